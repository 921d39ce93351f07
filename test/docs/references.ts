/**
 * What a page of the documentation points at: a file in backticks, and behind `›` a test in it, by its title, or something that the file
 * declares. A page that points at nothing is broken, and says so here before a reader finds out.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { parse, readText } from '../architecture/source-files.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const REFERENCE = /`((?:server|sdk|test|prisma|scripts|examples|bench)\/[\w./-]*\.\w+)(?: › ([^`]+))?`/g
const LINK = /\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g
const TITLED = new Set(['describe', 'it', 'test'])

export interface Reference {
  readonly file: string
  readonly name: string | null
}

/** Every reference of a page; a line break inside one is a space. */
export function referencesOf(page: string): readonly Reference[] {
  const text = readText(page).replace(/\n(?!\n)/g, ' ')
  return [...text.matchAll(REFERENCE)].map(([, file = '', name = null]) => ({ file, name }))
}

/** The relative links of a page, from the root of the repository. */
export function linksOf(page: string): readonly string[] {
  return [...readText(page).matchAll(LINK)].map(([, target = '']) => join(page, '..', target))
}

export function isThere(path: string): boolean {
  return existsSync(join(ROOT, path))
}

/** Null when the file, and the name in it, are there; else what is missing. */
export function findMissing({ file, name }: Reference): string | null {
  if (!isThere(file)) return `no file ${file}`
  if (name === null) return null
  const known = file.startsWith('test/') && !file.startsWith('test/support/') ? titlesOf(file) : declarationsOf(file)
  return known.has(name) ? null : `${file} has no ${JSON.stringify(name)}`
}

/** The titles of tests and groups, as they stand in the source. */
function titlesOf(file: string): ReadonlySet<string> {
  const titles = new Set<string>()
  walk(file, (node) => {
    if (!ts.isCallExpression(node)) return
    const [first] = node.arguments
    if (first === undefined || !TITLED.has(rootOf(node.expression))) return
    if (ts.isStringLiteralLike(first)) titles.add(first.text)
    else if (ts.isTemplateExpression(first)) titles.add(first.getText().slice(1, -1))
  })
  return titles
}

/** `test` of `test.each(…)('…', …)`. */
function rootOf(node: ts.Expression): string {
  if (ts.isIdentifier(node)) return node.text
  return ts.isPropertyAccessExpression(node) || ts.isCallExpression(node) ? rootOf(node.expression) : ''
}

function declarationsOf(file: string): ReadonlySet<string> {
  const names = new Set<string>()
  walk(file, (node) => {
    const named = ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node) || ts.isVariableDeclaration(node)
    if (named && node.name !== undefined && ts.isIdentifier(node.name)) names.add(node.name.text)
  })
  return names
}

function walk(file: string, look: (node: ts.Node) => void): void {
  const visit = (node: ts.Node): void => {
    look(node)
    ts.forEachChild(node, visit)
  }
  visit(parse({ path: file, text: readText(file), lines: 0 }))
}
