/** What a session has in flight: exactly what it owes, and nothing is shown of what it does not owe any more. */
import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../server/agents/define-agent.js'
import { createRegistry } from '../../server/agents/registry.js'
import { systemClock } from '../../server/clock.js'
import { createIdSource } from '../../server/ids.js'
import { scripted } from '../../server/models/scripted.js'
import type { StreamedEvent } from '../../server/session/events.js'
import { next } from '../../server/session/next.js'
import type { Effect } from '../../server/session/owed.js'
import { Effects } from '../../server/session/perform/effects.js'
import type { ToolContext, ToolPort } from '../../server/session/agent-port.js'
import type { Session } from '../../server/session/session.js'
import { LIMITS, NOW, acting, givenSession, openCall, resultOf, rowsOf } from '../support/given.js'
import { silentLog } from '../support/silent-log.js'
import { createGate } from './worlds.js'

const calls = [openCall('work', 'started')]
const session = givenSession({ phase: acting(calls), calls: rowsOf(calls) })

function owedBy(of: Session): readonly Effect[] {
  const owed = next(of, { now: NOW, limits: LIMITS, draining: false, isSpeaking: false })
  return owed.kind === 'effects' ? owed.effects : []
}

function start(run: ToolPort['run']) {
  const shown: StreamedEvent[] = []
  const ended = createGate()
  const agent = defineAgent({ name: 'support', model: scripted(), instructions: 'You help.' })
  const port = createRegistry([agent], () => scripted()).get('support')
  if (port === undefined) throw new Error('there is one agent')
  const work: ToolPort = {
    name: 'work',
    description: 'Works.',
    inputSchema: { type: 'object' },
    idempotent: false,
    sequential: false,
    label: () => null,
    check: async () => null,
    run,
  }
  const effects = new Effects({
    memos: { get: () => Promise.reject(new Error('no memos here')) },
    agent: { ...port, tools: new Map([['work', work]]) },
    stream: {
      emit: (event) => shown.push(event),
      ready: async () => undefined,
      take: async () => [],
      resume: () => undefined,
      close: () => undefined,
    },
    clock: systemClock,
    ids: createIdSource(),
    log: silentLog(),
    hasGrant: async () => false,
    loadHistory: async () => [],
    onOutcome: () => ended.open(),
  })
  return { effects, shown, ended }
}

describe('a tool', () => {
  test('is started once, however often it is owed, and its outcome stays until it is not owed', async () => {
    let runs = 0
    const { effects, ended } = start(async () => (runs += 1))
    effects.keep(session, owedBy(session))
    effects.keep(session, owedBy(session))
    await ended.opened
    effects.keep(session, owedBy(session))
    expect(runs).toBe(1)
    expect(effects.outcomes()).toMatchObject([{ kind: 'tool-ended', status: 'COMPLETED' }])
    effects.keep(session, [])
    expect(effects.outcomes()).toEqual([])
  })

  test('whose call is settled without it is told, and shows nothing any more', async () => {
    const told = createGate()
    let report = (_: unknown): void => undefined
    const { effects, shown } = start(async (_input, { signal }: ToolContext, progress) => {
      report = progress
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
      told.open()
      await new Promise(() => undefined)
    })
    effects.keep(session, owedBy(session))
    report('one')
    report('two')
    expect(shown).toHaveLength(1)
    effects.dismiss(rowsOf(calls).map((row) => ({ ...row, status: 'CANCELLED', result: resultOf('none') })))
    await told.opened
    report('three')
    report('four')
    expect(shown).toHaveLength(1)
  })

  test('whose call goes on is not told', () => {
    let aborted = false
    const { effects } = start((_input, { signal }) => {
      signal.addEventListener('abort', () => (aborted = true))
      return new Promise(() => undefined)
    })
    effects.keep(session, owedBy(session))
    effects.dismiss(rowsOf(calls))
    expect(aborted).toBe(false)
    effects.stopAll()
    expect(aborted).toBe(true)
  })

  test('that has ended is not told that it is not asked for any more: nothing of it runs', async () => {
    let signal: AbortSignal | null = null
    const { effects, ended } = start(async (_input, context) => {
      signal = context.signal
      return 'done'
    })
    effects.keep(session, owedBy(session))
    await ended.opened
    effects.keep(session, [])
    effects.stopAll()
    expect(signal).toMatchObject({ aborted: false })
  })

  test('that the agent has no more is an error for the model', async () => {
    const { effects, ended } = start(async () => 'unreachable')
    const gone = [openCall('gone', 'started')]
    const other = givenSession({ phase: acting(gone), calls: rowsOf(gone) })
    effects.keep(other, owedBy(other))
    await ended.opened
    expect(effects.outcomes()).toMatchObject([{ status: 'FAILED', result: { error: { code: 'TOOL_UNKNOWN' } } }])
  })
})
