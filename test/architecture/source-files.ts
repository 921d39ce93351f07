import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Not ours, made by a tool, or left behind by a run. */
const SKIPPED = new Set(['node_modules', 'dist', 'generated', '.git', '.tmp', '.perdure', 'peers'])

export interface SourceFile {
  /** Relative to the repository, with forward slashes. */
  readonly path: string
  readonly text: string
  readonly lines: number
}
export interface Import {
  /** The file, when it is one of ours; else null. */
  readonly file: string | null
  /** The package, without a path inside it; null for a file of ours. */
  readonly package: string | null
  /** The module of Node, such as `node:fs`. */
  readonly builtIn: string | null
  readonly typeOnly: boolean
}

/** Every text file of the repository under `folders`, sorted. */
export function readFiles(folders: readonly string[], extensions: readonly string[]): readonly SourceFile[] {
  return folders.flatMap(walk).flatMap((path) => {
    if (!extensions.some((extension) => path.endsWith(extension))) return []
    const text = readFileSync(join(ROOT, path), 'utf8')
    return [{ path, text, lines: text.trimEnd().split('\n').length }]
  })
}

/** A file that has to be there. */
export function readText(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

function walk(folder: string): readonly string[] {
  const entries = readdirSync(join(ROOT, folder), { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
  return entries.flatMap((entry) => {
    const path = posix.join(folder, entry.name)
    if (SKIPPED.has(entry.name)) return []
    if (entry.isDirectory()) return walk(path)
    return entry.isFile() ? [path] : []
  })
}

export function parse(file: SourceFile): ts.SourceFile {
  return ts.createSourceFile(file.path, file.text, ts.ScriptTarget.ESNext, true)
}

/** Static imports, re-exports and `import()` of a file. */
export function importsOf(file: SourceFile): readonly Import[] {
  const found: Import[] = []
  const visit = (node: ts.Node): void => {
    const specifier = specifierOf(node)
    if (specifier !== null) found.push({ ...resolve(file.path, specifier), typeOnly: isTypeOnly(node) })
    ts.forEachChild(node, visit)
  }
  visit(parse(file))
  return found
}

function specifierOf(node: ts.Node): string | null {
  if ((ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier && ts.isStringLiteral(node.moduleSpecifier)) {
    return node.moduleSpecifier.text
  }
  if (!ts.isCallExpression(node) || node.expression.kind !== ts.SyntaxKind.ImportKeyword) return null
  const [argument] = node.arguments
  return argument !== undefined && ts.isStringLiteral(argument) ? argument.text : null
}

function isTypeOnly(node: ts.Node): boolean {
  if (ts.isExportDeclaration(node)) return node.isTypeOnly
  if (!ts.isImportDeclaration(node)) return false
  const clause = node.importClause
  if (clause === undefined) return false
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true
  const named = clause.namedBindings
  return clause.name === undefined && named !== undefined && ts.isNamedImports(named) && named.elements.every((each) => each.isTypeOnly)
}

function resolve(from: string, specifier: string): Omit<Import, 'typeOnly'> {
  if (specifier.startsWith('.')) return { file: posix.join(dirname(from), specifier).replace(/\.js$/, '.ts'), package: null, builtIn: null }
  if (specifier.startsWith('node:')) return { file: null, package: null, builtIn: specifier }
  const parts = specifier.split('/')
  return { file: null, package: parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/'), builtIn: null }
}

export interface FunctionSpan {
  readonly name: string
  readonly lines: number
}

/** Every function of a file and the lines it takes, signature included. */
export function functionsOf(file: SourceFile): readonly FunctionSpan[] {
  const source = parse(file)
  const found: FunctionSpan[] = []
  const lineOf = (position: number): number => source.getLineAndCharacterOfPosition(position).line
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const name = node.name?.getText(source) ?? nameFromParent(node)
      found.push({ name, lines: lineOf(node.end) - lineOf(node.getStart(source)) + 1 })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

function nameFromParent(node: ts.Node): string {
  const { parent } = node
  return (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent)) && ts.isIdentifier(parent.name)
    ? parent.name.text
    : 'a function'
}

/** True when a file does nothing but pass on what others export. */
export function isBarrel(file: SourceFile): boolean {
  const statements = parse(file).statements.filter((statement) => !ts.isImportDeclaration(statement))
  return statements.length > 0 && statements.every((statement) => ts.isExportDeclaration(statement))
}
