/** Histories kept between turns: what the model is given is what the database holds, and a session at rest costs no memory for long. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../server/agents/define-agent.js'
import { createRegistry } from '../../server/agents/registry.js'
import { systemClock } from '../../server/clock.js'
import { createLocalCoordinator } from '../../server/coordination/local.js'
import { createEventWriter } from '../../server/events/writer.js'
import { createIdSource, storedId, type SessionId } from '../../server/ids.js'
import { scripted } from '../../server/models/scripted.js'
import { drive } from '../../server/session/drive.js'
import type { HistoryItem } from '../../server/session/history.js'
import { createRecentHistories, type LoadedHistory, type RecentHistories } from '../../server/session/perform/recent-histories.js'
import type { Session } from '../../server/session/session.js'
import { createFakeClock, type FakeClock } from '../support/fake-clock.js'
import { givenSession } from '../support/given.js'
import { createMemoryStore } from '../support/memory-store.js'
import { silentLog } from '../support/silent-log.js'
import { ALICE, message, newSession } from '../support/store-fixtures.js'

const said = (text: string): HistoryItem => ({ role: 'user', text })

function resting(name: string, revision: number, items: readonly HistoryItem[]): Session {
  const session = givenSession({ phase: { kind: 'idle' }, historyLength: items.length })
  return { ...session, revision, facts: { ...session.facts, id: storedId('ses', `ses_${name}`) } }
}

function loaded(items: readonly HistoryItem[]): LoadedHistory {
  return { epoch: 1, items: [...items], validTo: items.length, bytes: 0, measured: 0 }
}

describe('a history that was put away', () => {
  const items = [said('one'), said('two')]
  const session = resting('a', 3, items)

  test('is given back once, to whoever claims the session as it was put away (K1)', () => {
    const histories = createRecentHistories({ clock: createFakeClock() })
    const history = loaded(items)
    histories.put(session, history)
    expect(histories.take(session)).toBe(history)
    expect(histories.take(session)).toBeNull()
    expect(histories.bytes).toBe(0)
  })

  test('is dropped when the session has moved on, or its history begins anew (K1)', () => {
    const histories = createRecentHistories({ clock: createFakeClock() })
    const { checkpoint } = session
    for (const other of [
      { ...session, revision: 4 },
      { ...session, checkpoint: { ...checkpoint, historyEpoch: 2 } },
      { ...session, checkpoint: { ...checkpoint, historyLength: 3 } },
    ]) {
      histories.put(session, loaded(items))
      expect(histories.take(other)).toBeNull()
      expect(histories.take(session)).toBeNull()
    }
  })

  test('is dropped after a minute at rest, each at its own time, and no timer is left (K2)', async () => {
    const clock = createFakeClock()
    const histories = createRecentHistories({ clock })
    const other = resting('b', 3, items)
    histories.put(session, loaded(items))
    await clock.advance(30_000)
    histories.put(other, loaded(items))
    const both = histories.bytes
    await clock.advance(30_001)
    expect(histories.bytes).toBe(both / 2)
    expect(histories.take(session)).toBeNull()
    await clock.advance(30_001)
    expect(histories.bytes).toBe(0)
    expect(clock.pending).toBe(0)
  })

  test('makes room for later ones, the longest at rest first, and is not kept at all when it is larger than all the room (K2)', () => {
    const long = [said('x'.repeat(10_000))]
    const [a, b, c] = [resting('a', 1, long), resting('b', 1, long), resting('c', 1, long)]
    const histories = createRecentHistories({ clock: createFakeClock(), maxBytes: 45_000 })
    for (const one of [a, b, c]) histories.put(one, loaded(long))
    expect(histories.bytes).toBeLessThanOrEqual(45_000)
    expect([a, b, c].map((one) => histories.take(one) !== null)).toEqual([false, true, true])
    histories.put(b, loaded(long))
    const huge = [said('x'.repeat(30_000))]
    histories.put(resting('d', 1, huge), loaded(huge))
    expect(histories.take(resting('d', 1, huge))).toBeNull()
    expect(histories.take(b)).not.toBeNull()
  })

  test('counts what was appended to it since it was put away before', () => {
    const histories = createRecentHistories({ clock: createFakeClock() })
    const history = loaded([said('')])
    histories.put(resting('a', 1, history.items), history)
    const before = histories.bytes
    histories.take(resting('a', 1, history.items))
    history.items.push({ role: 'assistant', text: 'x'.repeat(1000), calls: [], interrupted: false })
    histories.put(resting('a', 2, history.items), history)
    expect(histories.bytes).toBeGreaterThan(before + 1000)
  })

  test('is gone after a clear, and so is the timer', () => {
    const clock = createFakeClock()
    const histories = createRecentHistories({ clock })
    histories.put(session, loaded(items))
    histories.clear()
    expect([histories.bytes, clock.pending, histories.take(session)]).toEqual([0, 0, null])
  })
})

/** Two processes over one store, each with histories of its own; a turn is driven by one of them from claim to park. */
function createProcesses(maxBytes: number) {
  const clock = createFakeClock()
  const store = createMemoryStore(systemClock)
  const ids = createIdSource()
  let reads = 0
  const given: { readonly history: readonly HistoryItem[]; readonly stored: readonly HistoryItem[] }[] = []
  const counting = {
    ...store,
    loadHistory: (id: SessionId, epoch: number) => {
      reads += 1
      return store.loadHistory(id, epoch)
    },
  }
  let driven: SessionId | null = null
  const model = scripted(async ({ history, step, lastUserText }) => {
    if (driven !== null) given.push({ history, stored: await store.loadHistory(driven, 0) })
    if (lastUserText === 'work' && step === 0) return { calls: [{ name: 'absent' }] }
    return 'Yes.'
  })
  const agent = createRegistry([defineAgent({ name: 'support', instructions: 'Help.', model })], () => model).get('support')
  if (agent === undefined) throw new Error('there is one agent')
  const processes = [createRecentHistories({ clock, maxBytes }), createRecentHistories({ clock, maxBytes })] as const

  async function turn(histories: RecentHistories, sessionId: SessionId, text: string): Promise<void> {
    await store.deliver(sessionId, message(systemClock, text), null)
    const session = await store.claim(sessionId, { owner: ids.next('wrk'), ttlMs: 60_000, agents: ['support'] })
    if (session === 'not-due' || agent === undefined) throw new Error('the session is due')
    const coordinator = createLocalCoordinator({ clock: systemClock })
    const log = silentLog()
    const writer = createEventWriter({ store, coordinator, clock: systemClock, ttlMs: 60_000, log })
    const signals = { lost: new AbortController().signal, draining: new AbortController().signal, onNudge: () => undefined }
    const stream = writer.open(session.lease, { onFenced: () => undefined })
    const own = { store: counting, histories, stream, agent, clock: systemClock, ids, random: () => 0, log }
    driven = sessionId
    await drive(session, { ...own, leaseTtlMs: 60_000, onCommitted: () => undefined }, signals)
    driven = null
  }

  async function open(): Promise<SessionId> {
    const made = newSession(systemClock, { agent: 'support', owner: ALICE })
    await store.createSession(made)
    return made.id
  }

  return { clock, processes, open, turn, given, reads: () => reads }
}

describe('the history that a model is given', () => {
  test('is not read again for the next turn in the same process', async () => {
    const { processes, open, turn, given, reads } = createProcesses(1_000_000)
    const sessionId = await open()
    for (const text of ['hello', 'work', 'again']) await turn(processes[0], sessionId, text)
    expect(reads()).toBe(0)
    expect(given.map(({ history }) => history)).toEqual(given.map(({ stored }) => stored))
  })

  test('has the turn that another process took in between', async () => {
    const { processes, open, turn, given, reads } = createProcesses(1_000_000)
    const sessionId = await open()
    await turn(processes[0], sessionId, 'first')
    await turn(processes[1], sessionId, 'second')
    await turn(processes[0], sessionId, 'third')
    expect(reads()).toBe(2)
    const texts = given.at(-1)?.history.map((item) => item.text)
    expect(texts).toEqual(['first', 'Yes.', 'second', 'Yes.', 'third'])
  })

  test('is what the database holds, whoever drives, whatever was dropped meanwhile', async () => {
    const step = fc.record({
      session: fc.nat(2),
      process: fc.nat(1),
      text: fc.constantFrom('hello', 'work', 'x'.repeat(300)),
      restMs: fc.constantFrom(0, 0, 0, 40_000, 90_000),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), fc.constantFrom(1500, 5000, 1_000_000), async (steps, maxBytes) => {
        const { clock, processes, open, turn, given } = createProcesses(maxBytes)
        const sessions = [await open(), await open(), await open()]
        for (const { session, process, text, restMs } of steps) {
          await turn(processes[process === 0 ? 0 : 1], sessions[session] ?? fail('there are three'), text)
          await rest(clock, restMs)
          for (const { bytes } of processes) expect(bytes).toBeLessThanOrEqual(maxBytes)
        }
        expect(given.length).toBeGreaterThanOrEqual(steps.length)
        for (const { history, stored } of given) expect(history).toEqual(stored)
        await rest(clock, 60_001)
        expect(processes.map(({ bytes }) => bytes)).toEqual([0, 0])
      }),
      { numRuns: 30 },
    )
  })
})

async function rest(clock: FakeClock, ms: number): Promise<void> {
  if (ms > 0) await clock.advance(ms)
}

function fail(message: string): never {
  throw new Error(message)
}
