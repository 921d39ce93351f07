import type { RequestSummary, TurnSummary } from '../compose.js'
import { paint, type Style, type Terminal } from './terminal.js'

const MARKS = { completed: ['green', '✓'], failed: ['red', '✗'], cancelled: ['yellow', '■'] } as const satisfies Record<
  TurnSummary['outcome'],
  readonly [Style, string]
>

/** Prints a turn: `12:03:04 ses_…8m2kq hello turn 3 ✓ 2 steps 1 tool 412 tok 0.8 s`; a failure has a second line that says why. */
export function printTurn(terminal: Terminal, turn: TurnSummary): void {
  const [style, mark] = MARKS[turn.outcome]
  const counts = [plural(turn.steps, 'step'), ...(turn.toolCalls > 0 ? [plural(turn.toolCalls, 'tool')] : []), `${String(turn.tokens)} tok`]
  const seconds = `${(turn.durationMs / 1000).toFixed(1)} s`
  const head = `${paint(terminal, 'dim', timeOf(turn.at))} ${shorten(turn.sessionId)} ${turn.agent} turn ${String(turn.number)}`
  terminal.out(`${head} ${paint(terminal, style, mark)} ${counts.join(' ')} ${seconds}\n`)
  if (turn.failure !== null) terminal.out(`         ${paint(terminal, 'red', turn.failure.code)} ${turn.failure.message}\n`)
}

/** Prints what a turn waits for: `12:03:04 ses_…8m2kq support ? approval: Refund order 1042 in full? (role:manager)`. */
export function printRequest(terminal: Terminal, { at, sessionId, agent, kind, prompt, reviewers }: RequestSummary): void {
  const who = reviewers.length === 0 ? '' : ` ${paint(terminal, 'dim', `(${reviewers.join(', ')})`)}`
  const head = `${paint(terminal, 'dim', timeOf(at))} ${shorten(sessionId)} ${agent}`
  terminal.out(`${head} ${paint(terminal, 'yellow', '?')} ${kind.toLowerCase()}: ${prompt.split('\n', 1)[0] ?? ''}${who}\n`)
}

/** Identifiers begin with the time, so the end is what tells two of them apart. */
function shorten(id: string): string {
  const suffix = id.indexOf('_') + 1
  return id.length - suffix <= 5 ? id : `${id.slice(0, suffix)}…${id.slice(-5)}`
}

function plural(count: number, noun: string): string {
  return `${String(count)} ${noun}${count === 1 ? '' : 's'}`
}

function timeOf(at: number): string {
  return new Date(at).toTimeString().slice(0, 8)
}
