/**
 * Dies at, or loses the reply of, every write of a scenario in turn: streamed text, parallel tools of which one is idempotent, a second
 * step, a second turn. What a person reads must be the same each time, and nothing that takes effect happens twice.
 */
import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../server/agents/define-agent.js'
import { defineTool } from '../../server/agents/define-tool.js'
import { systemClock } from '../../server/clock.js'
import { createFeed } from '../../server/events/feed.js'
import type { SessionId } from '../../server/ids.js'
import { scripted } from '../../server/models/scripted.js'
import type { Conversation, ScriptedAnswer } from '../../server/models/script.js'
import type { RecordedEvent } from '../../server/session/events.js'
import type { SessionStore } from '../../server/session/ports.js'
import { expectSound } from '../support/expect-sound.js'
import { FAULTS, makeFaulty, type Fault, type FaultyWrite } from '../support/faulty-store.js'
import { silentLog } from '../support/silent-log.js'
import { ALICE, BOB, readLog, transcript, type World } from '../support/world.js'
import { afterTurns, createWorlds, type Worlds } from './worlds.js'

const WRITES: readonly FaultyWrite[] = ['commit', 'appendEvents', 'claim']
/** A guard of the loop: far more than the scenario writes. */
const MAX_WRITES = 60
const done = afterTurns(2)

const TRANSCRIPT = [
  'user: Refund order 7',
  'assistant: Let me see about that.',
  'assistant: Now the receipt.',
  'assistant: All done, thank you.',
  'user: And order 8?',
  'assistant: Order 8 is on its way.',
]

async function* reply({ lastUserText, step, wait }: Conversation): AsyncGenerator<string | ScriptedAnswer> {
  if (lastUserText === 'And order 8?') return yield* slowly('Order 8 is ', 'on its way.')
  if (step === 0) {
    yield* slowly('Let me see ', 'about that.')
    yield { calls: [{ name: 'refund' }, { name: 'look_up' }] }
  } else if (step === 1) {
    yield { reasoning: 'A receipt is due. ', text: 'Now the receipt.', calls: [{ name: 'send_receipt' }] }
  } else {
    yield* slowly('All done, ', 'thank you.')
  }

  async function* slowly(...parts: readonly string[]): AsyncGenerator<string> {
    for (const part of parts) {
      yield part
      await wait(2)
    }
  }
}

/** Counts how often each tool really ran, beyond the reach of any store. */
function createSupport() {
  const runs = { refund: 0, look_up: 0, send_receipt: 0 }
  const tool = (name: keyof typeof runs, idempotent: boolean) =>
    defineTool({
      description: `Does ${name}.`,
      input: { type: 'object' },
      idempotent,
      execute: async () => {
        runs[name] += 1
        await new Promise((resolve) => setImmediate(resolve))
        return { done: name }
      },
    })
  const tools = { refund: tool('refund', false), look_up: tool('look_up', true), send_receipt: tool('send_receipt', false) }
  return { runs, agent: defineAgent({ name: 'support', model: scripted(reply), instructions: 'You help.', tools }) }
}

interface Crash {
  readonly write: FaultyWrite
  readonly at: number
  readonly fault: Fault
}

/** Runs the scenario through one failure. `wasReached`: the write came to pass. */
async function run(store: SessionStore, { write, at, fault }: Crash): Promise<{ readonly wasReached: boolean }> {
  const { runs, agent } = createSupport()
  const worlds = createWorlds([agent], store)
  // A process that takes requests and drives nothing, so that what clients do does not depend on who dies.
  const front = worlds.start({ slots: 0 })
  const sessionId = await front.open('support', 'Refund order 7', ALICE)
  await front.send(sessionId, 'And order 8?', BOB)
  const subscribers = [follow(worlds, front, sessionId, [0]), follow(worlds, front, sessionId, [0, 3, 9])]

  const faulty = makeFaulty(store, write, at, fault)
  // Whoever lost the reply of a claim does not know that it has the session: only the lease's end frees it.
  const leaseTtlMs = write === 'claim' && fault === 'reply-lost' ? 60 : 600_000
  const first = worlds.start({ store: faulty.store, leaseTtlMs })
  const crashed = await Promise.race([first.until(sessionId, done).then(() => false), faulty.crashed.then(() => true)])
  if (crashed) {
    await store.releaseAll()
    await worlds.start().until(sessionId, done)
  } else {
    await first.stop()
  }

  const log = await expectSound(store, sessionId)
  expect(transcript(await store.loadHistory(sessionId, 0))).toEqual(TRANSCRIPT)
  expect(runs.refund).toBeLessThanOrEqual(1)
  expect(runs.send_receipt).toBeLessThanOrEqual(1)
  expect(runs.look_up).toBeGreaterThanOrEqual(1)
  expect(worlds.faults).toEqual([])
  expectTold(log, runs)
  const positions = log.map((event) => event.position)
  for (const seen of await Promise.all(subscribers)) expect(seen).toEqual(positions)
  await worlds.stop()
  return { wasReached: faulty.count() >= at }
}

/** A call that did not run to its end is told as such, and one that is told as completed has run. */
function expectTold(log: readonly RecordedEvent[], runs: Readonly<Record<string, number>>): void {
  const ends = log.flatMap((event) => (event.type === 'TOOL_CALL_END' ? [event.data] : []))
  expect(ends.map((call) => call.name).sort()).toEqual(['look_up', 'refund', 'send_receipt'])
  for (const { name, status } of ends) {
    expect(status).toMatch(name === 'look_up' ? /^COMPLETED$/ : /^(COMPLETED|ABANDONED)$/)
    if (status === 'COMPLETED') expect(runs[name]).toBeGreaterThanOrEqual(1)
  }
}

/** A client that leaves after some events and comes back with its cursor. Gives the positions that it saw, in order, until both turns ended. */
async function follow(worlds: Worlds, front: World, sessionId: SessionId, leaves: readonly number[]): Promise<readonly number[]> {
  const { store } = worlds
  const feed = createFeed({ store, coordinator: front.coordinator, clock: systemClock, log: silentLog(), healIntervalMs: 3 })
  const seen: number[] = []
  for (const leaveAfter of [...leaves.slice(1), Infinity]) {
    const signal = new AbortController()
    for await (const batch of feed.follow(sessionId, { after: seen.at(-1) ?? 0, follow: true, signal: signal.signal })) {
      seen.push(...batch.events.map((event) => event.position))
      if (seen.length >= leaveAfter || done(await readLog(store, sessionId).then((log) => log.slice(0, seen.length)))) break
    }
    signal.abort()
  }
  feed.close()
  return seen
}

/** `open` is called once for each test; what it opened is closed by whoever opened it. */
export function claimEveryCrashPoint(open: () => SessionStore): void {
  describe.each(WRITES)('a session whose worker fails at any %s', (write) => {
    test.each(FAULTS)('by %s goes on as if nothing had been', async (fault) => {
      const store = open()
      let at = 1
      while ((await run(store, { write, at, fault })).wasReached) {
        at += 1
        expect(at).toBeLessThan(MAX_WRITES)
      }
      expect(at).toBeGreaterThan(1)
    })
  })
}
