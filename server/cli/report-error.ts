import { PerdureError, toMessage } from '../errors.js'
import { paint, type Terminal } from './terminal.js'

/**
 * An error for a person: what happened and where, the line to copy, the code. The stack only when asked for: it says nothing to
 * somebody who mistyped a port.
 */
export function errorText(thrown: unknown, options: { readonly terminal: Pick<Terminal, 'color'>; readonly verbose: boolean }): string {
  const { terminal, verbose } = options
  const code = thrown instanceof PerdureError ? thrown.code : 'INTERNAL'
  const hint = thrown instanceof PerdureError ? thrown.hint : 'run it again with --verbose to see where this comes from'
  const lines = [paint(terminal, 'red', toMessage(thrown))]
  if (hint !== undefined && !(verbose && code === 'INTERNAL')) lines.push(`→ ${hint}`)
  lines.push(paint(terminal, 'dim', code))
  if (verbose) lines.push(...stacks(thrown))
  return `${lines.join('\n')}\n`
}

/** The stack of the error and of what caused it. */
function stacks(thrown: unknown): readonly string[] {
  if (!(thrown instanceof Error)) return []
  const own = thrown.stack ?? thrown.message
  return thrown.cause === undefined ? [own] : [own, ...stacks(thrown.cause).map((stack) => `caused by ${stack}`)]
}
