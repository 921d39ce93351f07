/** Says what is wrong with an author's file: where, in one sentence, with the lines around it. */
import { readFileSync } from 'node:fs'
import { dirname, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PerdureError } from '../errors.js'
import { readMessage } from '../session/perform/to-json.js'

interface Spot {
  readonly file: string
  /** From 1. */
  readonly line: number
  /** From 1; null when it is not known. */
  readonly column: number | null
}

/** Where this package is; its own frames are not the author's. */
const OWN_FOLDER = dirname(dirname(fileURLToPath(import.meta.url))) + sep
const SYNTAX = /^ParseError: ([\s\S]*?)\s*\n\s*(\S.*):(\d+):(\d+)\s*$/
const FRAME = /(?:\(|at (?:async )?)((?:file:\/\/)?[^\s()]+):(\d+):(\d+)\)?$/

/** What went wrong while `file` was loaded, as a PerdureError AGENTS_FILE_INVALID. */
export function toLoadFailure(file: string, thrown: unknown): PerdureError {
  return fromSyntax(thrown) ?? fromMissingModule(thrown) ?? fromThrown(file, thrown)
}

function fromSyntax(thrown: unknown): PerdureError | null {
  const [, problem, file, line, column] = SYNTAX.exec(readMessage(thrown)) ?? []
  if (problem === undefined || file === undefined) return null
  // The parser counts columns from 0.
  const spot = toSpot(file, Number(line), Number(column) + 1)
  return toFailure(`${showSpot(spot)} has a syntax error: ${problem}`, { spot, hint: 'mend the line and start again', cause: thrown })
}

function fromMissingModule(thrown: unknown): PerdureError | null {
  const missing = /^Cannot find (?:module|package) '([^']+)'/.exec(readMessage(thrown))?.[1]
  const importer = requireStackOf(thrown)[0]
  if (missing === undefined || importer === undefined) return null
  const spot = findImport(importer, missing)
  const isLocal = missing.startsWith('.') || missing.startsWith('/')
  const hint = isLocal ? `check the path, seen from ${showPath(dirname(importer))}` : `npm install ${packageOf(missing)}`
  return toFailure(`${spot === null ? showPath(importer) : showSpot(spot)} imports "${missing}", which is not there`, {
    spot,
    hint,
    cause: thrown,
  })
}

/** `@scope/name` of `@scope/name/part`. */
function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

function requireStackOf(thrown: unknown): readonly string[] {
  if (!(thrown instanceof Error) || !('requireStack' in thrown) || !Array.isArray(thrown.requireStack)) return []
  return thrown.requireStack.map(String)
}

function findImport(file: string, specifier: string): Spot | null {
  const lines = readLines(file)
  const index = lines.findIndex((line) => line.includes(`'${specifier}'`) || line.includes(`"${specifier}"`))
  const line = lines[index]
  return line === undefined ? null : { file, line: index + 1, column: line.indexOf(specifier) + 1 }
}

function fromThrown(file: string, thrown: unknown): PerdureError {
  const spot = findAuthorsFrame(thrown)
  const where = spot === null ? showPath(file) : showSpot(spot)
  if (thrown instanceof PerdureError) {
    return toFailure(`${where}: ${thrown.message}`, { spot, hint: thrown.hint ?? 'mend the definition and start again', cause: thrown })
  }
  const hint = 'what runs while the file is loaded must not fail: move it into a tool, or into instructions as a function'
  return toFailure(`${where} failed while it was loaded: ${readMessage(thrown)}`, { spot, hint, cause: thrown })
}

/** The first line of the stack that is neither Node's, nor a package's, nor ours. */
function findAuthorsFrame(thrown: unknown): Spot | null {
  const stack = thrown instanceof Error && typeof thrown.stack === 'string' ? thrown.stack.split('\n') : []
  for (const text of stack) {
    const [, place, line, column] = FRAME.exec(text.trim()) ?? []
    if (place === undefined || place.startsWith('node:')) continue
    const file = place.startsWith('file://') ? fileURLToPath(place) : place
    if (file.includes(`${sep}node_modules${sep}`) || file.startsWith(OWN_FOLDER)) continue
    return toSpot(file, Number(line), Number(column))
  }
  return null
}

/**
 * What runs is compiled from what was written, so a column may be one of the compiled line: without the column when the written line is
 * too short for it. The place behind the last character is where a parser misses something.
 */
function toSpot(file: string, line: number, column: number): Spot {
  const text = readLines(file)[line - 1]
  return { file, line, column: text !== undefined && column > text.length + 1 ? null : column }
}

function toFailure(sentence: string, about: { readonly spot: Spot | null; readonly hint: string; readonly cause: unknown }): PerdureError {
  const frame = about.spot === null ? '' : codeFrame(about.spot)
  return new PerdureError('AGENTS_FILE_INVALID', sentence + frame, { hint: about.hint, cause: about.cause })
}

/** The line, two before and one after it, with a mark under the column if it is known; empty when the file has no such line. */
function codeFrame({ file, line, column }: Spot): string {
  const lines = readLines(file)
  if (lines[line - 1] === undefined) return ''
  const first = Math.max(1, line - 2)
  const width = String(line + 1).length
  const shown = lines.slice(first - 1, line + 1).flatMap((text, index) => {
    const number = first + index
    const row = `${number === line ? '>' : ' '} ${String(number).padStart(width)} | ${text}`
    if (number !== line || column === null) return [row]
    return [row, `  ${' '.repeat(width)} | ${text.slice(0, column - 1).replace(/[^\t]/g, ' ')}^`]
  })
  return `\n\n${shown.join('\n')}`
}

function readLines(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').split(/\r?\n/)
  } catch {
    return []
  }
}

function showSpot({ file, line, column }: Spot): string {
  return `${showPath(file)}:${String(line)}${column === null ? '' : `:${String(column)}`}`
}

/** As a person types it: relative when it is below the working directory. */
export function showPath(path: string): string {
  const short = relative(process.cwd(), path)
  return short === '' || short.startsWith('..') ? path : short
}
