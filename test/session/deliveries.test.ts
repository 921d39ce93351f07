/** The table of deliveries: what each kind does in each state, one test a cell. */
import { describe, expect, test } from 'vitest'
import { storedId } from '../../server/ids.js'
import { openTurnOf, type Phase } from '../../server/session/checkpoint.js'
import type { CallRow, Commit } from '../../server/session/commit.js'
import type { DeliveryContent } from '../../server/session/deliveries.js'
import type { Block } from '../../server/session/outcomes.js'
import { addDeliveries, type Session } from '../../server/session/session.js'
import type { SessionStatus } from '../../server/session/status.js'
import { NOW, TURN, acting, delivery, givenSession, modelling, openCall, rowsOf } from '../support/given.js'
import { effectKinds, walk, type Walk } from './walk.js'

type Kind = 'MESSAGE, STEER' | 'MESSAGE, QUEUE' | 'CANCEL' | 'END'
type State =
  | 'CREATED'
  | 'IDLE'
  | 'model silent'
  | 'model speaking'
  | 'tool running'
  | 'provider back-off'
  | 'parked on a timer'
  | 'cancelling'
  | 'ended'

interface Outcome {
  /** What became of the delivery; `waits`: it stays in the inbox. */
  readonly delivery: 'APPLIED' | 'waits'
  /** The turn that it is settled with. */
  readonly of: 'the open turn' | 'a new turn' | 'no turn'
  /** What became of the turn that was open. */
  readonly turn: 'none was open' | 'goes on' | 'CANCELLED' | 'stopping'
  readonly status: SessionStatus
  /** What should be in flight afterwards. */
  readonly effects: readonly string[]
  readonly kept?: string
}

const CONTENTS: Readonly<Record<Kind, DeliveryContent>> = {
  'MESSAGE, STEER': { kind: 'MESSAGE', text: 'and this', policy: 'STEER' },
  'MESSAGE, QUEUE': { kind: 'MESSAGE', text: 'and this', policy: 'QUEUE' },
  CANCEL: { kind: 'CANCEL', turnId: null, dropQueued: false },
  END: { kind: 'END', reason: null },
}

const tool = [openCall('work', 'started')]
const STATES: Readonly<Record<State, { readonly phase: Phase; readonly calls?: readonly CallRow[] }>> = {
  CREATED: { phase: { kind: 'created' } },
  IDLE: { phase: { kind: 'idle' } },
  'model silent': { phase: modelling() },
  'model speaking': { phase: modelling() },
  'tool running': { phase: acting(tool), calls: rowsOf(tool) },
  'provider back-off': { phase: modelling({ failures: 1, retryAt: NOW + 500 }) },
  'parked on a timer': { phase: modelling({ failures: 1, retryAt: NOW + 60_000 }, { activeSince: null }) },
  cancelling: { phase: acting(tool, {}, { cause: 'cancel', until: NOW + 5000 }), calls: rowsOf(tool) },
  ended: { phase: { kind: 'ended', status: 'COMPLETED', reason: 'ENDED' } },
}
const SPOKEN: readonly Block[] = [{ id: storedId('blk', 'blk_said'), kind: 'text', text: 'Half an ans' }]

const startsTurn = { delivery: 'APPLIED', of: 'a new turn', turn: 'none was open', status: 'RUNNING', effects: ['call-model'] } as const
const waits = { delivery: 'waits', of: 'no turn', turn: 'goes on', status: 'RUNNING' } as const
const cancels = { delivery: 'APPLIED', of: 'the open turn', turn: 'CANCELLED', status: 'IDLE', effects: [] } as const
const ends = { delivery: 'APPLIED', of: 'no turn', turn: 'CANCELLED', status: 'CANCELLED', effects: [] } as const
const completes = { delivery: 'APPLIED', of: 'no turn', turn: 'none was open', status: 'COMPLETED', effects: [] } as const
const stops = { delivery: 'APPLIED', of: 'the open turn', turn: 'stopping', status: 'RUNNING', effects: ['run-tool, aborted'] } as const
const nothing = { delivery: 'APPLIED', of: 'no turn', turn: 'none was open', effects: [] } as const
const untouched = { delivery: 'waits', of: 'no turn', turn: 'none was open', status: 'COMPLETED', effects: [] } as const

/** In this release STEER waits like QUEUE. */
const TABLE: Readonly<Record<State, Readonly<Record<Kind, Outcome>>>> = {
  CREATED: { 'MESSAGE, STEER': startsTurn, 'MESSAGE, QUEUE': startsTurn, CANCEL: { ...nothing, status: 'CREATED' }, END: completes },
  IDLE: { 'MESSAGE, STEER': startsTurn, 'MESSAGE, QUEUE': startsTurn, CANCEL: { ...nothing, status: 'IDLE' }, END: completes },
  'model silent': row({ waits: ['call-model'], CANCEL: cancels, END: ends }),
  'model speaking': row({ waits: ['call-model'], CANCEL: { ...cancels, kept: 'Half an ans' }, END: { ...ends, kept: 'Half an ans' } }),
  'tool running': row({ waits: ['run-tool'], CANCEL: stops, END: { ...stops, of: 'no turn' } }),
  'provider back-off': row({ waits: [], CANCEL: cancels, END: ends }),
  'parked on a timer': row({ waits: [], CANCEL: cancels, END: ends }),
  cancelling: row({ waits: ['run-tool, aborted'], turn: 'stopping', CANCEL: stops, END: { ...stops, of: 'no turn' } }),
  ended: { 'MESSAGE, STEER': untouched, 'MESSAGE, QUEUE': untouched, CANCEL: untouched, END: untouched },
}

interface WithTurn {
  /** What is in flight while a message waits, and what becomes of the turn meanwhile; default: it goes on. */
  readonly waits: readonly string[]
  readonly turn?: Outcome['turn']
  readonly CANCEL: Outcome
  readonly END: Outcome
}
function row(of: WithTurn): Readonly<Record<Kind, Outcome>> {
  const message = { ...waits, turn: of.turn ?? waits.turn, effects: of.waits }
  return { 'MESSAGE, STEER': message, 'MESSAGE, QUEUE': message, CANCEL: of.CANCEL, END: of.END }
}

function arrive(state: State, kind: Kind): { readonly before: Session; readonly after: Walk } {
  const before = givenSession(STATES[state])
  const arrived = delivery(1, CONTENTS[kind], openTurnOf(before.checkpoint)?.id ?? null)
  const said = state === 'model speaking' ? SPOKEN : []
  return { before, after: walk(addDeliveries(before, [arrived]), { said }) }
}

function observe(before: Session, { session, commits, owed }: Walk): Outcome {
  const settled = commits.flatMap((commit) => commit.settled)
  const kept = commits.flatMap((commit) => commit.history).find((item) => item.role === 'assistant')
  const turnId = settled[0]?.turnId ?? null
  return {
    delivery: settled.length === 0 ? 'waits' : 'APPLIED',
    of: turnId === null ? 'no turn' : turnId === TURN ? 'the open turn' : 'a new turn',
    turn: becameOf(before, session, commits),
    status: session.status,
    effects: effectKinds(owed),
    ...(kept === undefined ? {} : { kept: kept.text }),
  }
}

function becameOf(before: Session, session: Session, commits: readonly Commit[]): Outcome['turn'] {
  if (openTurnOf(before.checkpoint) === null) return 'none was open'
  const closed = commits.find((commit) => commit.closedTurn?.id === TURN)?.closedTurn
  if (closed != null) return closed.status === 'CANCELLED' ? 'CANCELLED' : 'goes on'
  const { phase } = session.checkpoint
  return phase.kind === 'acting' && phase.stopping !== null ? 'stopping' : 'goes on'
}

const states = Object.keys(TABLE) as readonly State[]
const kinds = Object.keys(CONTENTS) as readonly Kind[]

describe.each(states)('while %s', (state) => {
  test.each(kinds)('%s does what the table says', (kind) => {
    const { before, after } = arrive(state, kind)
    expect(observe(before, after)).toEqual(TABLE[state][kind])
    for (const { settled } of after.commits) for (const one of settled) expect(one).toMatchObject({ status: 'APPLIED', rejection: null })
  })
})

describe('after the grace', () => {
  test('a message that came while cancelling starts the next turn', () => {
    const { session } = arrive('cancelling', 'MESSAGE, STEER').after
    const later = walk(session, { now: NOW + 5000 })
    expect(later.commits.flatMap((commit) => commit.events).map((event) => event.type)).toContain('TURN_CANCELLED')
    expect(effectKinds(later.owed)).toEqual(['call-model'])
    expect(openTurnOf(later.session.checkpoint)?.number).toBe(2)
  })

  test('an end that came while a tool ran ends the session as CANCELLED', () => {
    const { session } = arrive('tool running', 'END').after
    const later = walk(session, { now: NOW + 10_000 })
    expect(later.session.status).toBe('CANCELLED')
    expect(later.commits.flatMap((commit) => commit.events).map((event) => event.type)).toEqual([
      'TOOL_CALL_END',
      'TURN_CANCELLED',
      'SESSION_CANCELLED',
    ])
  })
})
