/**
 * Every code that the sources can put into an error, a problem or a failure: found by where it stands, so that a code which somebody adds
 * is found as well.
 */
import ts from 'typescript'
import { parse, readFiles } from '../architecture/source-files.js'

const CODE = /^[A-Z][A-Z_]+$/
/** What takes a code as its first argument. */
const TAKES_CODE = new Set(['PerdureError', 'error', 'failure', 'super', 'toRefusal'])
/** What takes one as its second: whatever is stopped comes first. */
const STOPS_WITH_CODE = 'stop'
/** Lists of codes. */
const LISTS = new Set(['PROBLEM_CODES', 'ERROR_CODES', 'FAILURE_CODES'])

/** Each code with the files that name it, sorted. */
export function codesInSources(): ReadonlyMap<string, readonly string[]> {
  const places = new Map<string, Set<string>>()
  for (const file of readFiles(['server', 'sdk'], ['.ts'])) {
    for (const code of codesIn(parse(file))) places.set(code, (places.get(code) ?? new Set()).add(file.path))
  }
  const sorted = [...places].sort(([one], [other]) => (one < other ? -1 : 1))
  return new Map(sorted.map(([code, files]) => [code, [...files]]))
}

function codesIn(source: ts.SourceFile): ReadonlySet<string> {
  const codes = new Set<string>()
  const visit = (node: ts.Node): void => {
    const place = codePlace(node)
    if (place !== null) for (const text of textsOf(place)) if (CODE.test(text)) codes.add(text)
    ts.forEachChild(node, visit)
  }
  visit(source)
  return codes
}

/** The expression whose value becomes a code. */
function codePlace(node: ts.Node): ts.Expression | null {
  if ((ts.isCallExpression(node) || ts.isNewExpression(node)) && TAKES_CODE.has(node.expression.getText())) {
    return node.arguments?.[0] ?? null
  }
  if (ts.isCallExpression(node) && node.expression.getText() === STOPS_WITH_CODE) return node.arguments[1] ?? null
  if (ts.isPropertyAssignment(node) && node.name.getText() === 'code') return node.initializer
  if (!ts.isVariableDeclaration(node) || node.initializer === undefined) return null
  return node.name.getText() === 'code' || LISTS.has(node.name.getText()) ? node.initializer : null
}

/** The strings that may be its value: of a choice both arms, of a list all of it; never those that are only compared with. */
function textsOf(node: ts.Expression): readonly string[] {
  if (ts.isStringLiteral(node)) return [node.text]
  if (ts.isConditionalExpression(node)) return [...textsOf(node.whenTrue), ...textsOf(node.whenFalse)]
  if (ts.isArrayLiteralExpression(node)) return node.elements.flatMap(textsOf)
  return ts.isAsExpression(node) || ts.isSatisfiesExpression(node) ? textsOf(node.expression) : []
}
