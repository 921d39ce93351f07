/**
 * Dies at, or loses the reply of, every write of a turn that asks three people's leave: one call is allowed, one is denied, a question is
 * answered. Whoever takes over, each request is asked and settled once, and what was allowed runs at most once.
 */
import { expect, test } from 'vitest'
import { askUser } from '../../server/agents/ask-user.js'
import { defineAgent } from '../../server/agents/define-agent.js'
import { defineTool } from '../../server/agents/define-tool.js'
import { systemClock } from '../../server/clock.js'
import type { SessionId } from '../../server/ids.js'
import { scripted } from '../../server/models/scripted.js'
import type { RecordedEvent } from '../../server/session/events.js'
import { NO_ANSWER } from '../../server/session/requests.js'
import { expectSound } from '../support/expect-sound.js'
import { FAULTS, makeFaulty, type Fault, type FaultyWrite } from '../support/faulty-store.js'
import { createMemoryStore } from '../support/memory-store.js'
import { ALICE, type World } from '../support/world.js'
import { afterTurns, createWorlds, followUntil } from './worlds.js'

const MAX_WRITES = 40
const done = afterTurns(1)

function createClerk() {
  const runs: unknown[] = []
  const pay = defineTool({ description: 'Pays.', input: { type: 'object' }, approval: 'always', execute: (input) => runs.push(input) })
  const model = scripted(({ step }) => {
    if (step === 0) return { calls: [1, 2].map((euros) => ({ name: 'pay', input: { euros } })) }
    return step === 1 ? { calls: [{ name: 'ask_user', input: { question: 'Well?' } }] } : 'All done.'
  })
  return { runs, agent: defineAgent({ name: 'support', model, instructions: 'Ask.', tools: { pay, ask_user: askUser() } }) }
}

/** The first one that is open: allows the first call, denies the second, answers the question with nothing. */
async function answerNext(front: World, sessionId: SessionId, log: readonly RecordedEvent[]): Promise<void> {
  const asked = log.flatMap((event) =>
    event.type === 'APPROVAL_REQUESTED' || event.type === 'INPUT_REQUESTED' ? [event.data.request] : [],
  )
  const settled = log.flatMap((event) =>
    event.type === 'APPROVAL_RESOLVED' || event.type === 'INPUT_RESOLVED' ? [event.data.request] : [],
  )
  const requestId = asked.find((request) => !settled.includes(request))
  if (requestId === undefined) return
  const decision = asked.indexOf(requestId) === 0 ? 'APPROVE' : 'DENY'
  const answers = [{ ...NO_ANSWER, requestId, decision, text: '', reason: null } as const]
  const outcome = await front.intake.deliver(ALICE, { kind: 'session', sessionId }, { kind: 'ANSWERS', answers }, `answer ${requestId}`)
  expect(outcome.kind).toBe('accepted')
}

async function run(write: FaultyWrite, at: number, fault: Fault): Promise<boolean> {
  const { runs, agent } = createClerk()
  const store = createMemoryStore(systemClock)
  const worlds = createWorlds([agent], store)
  const front = worlds.start({ slots: 0 })
  const sessionId = await front.open('support', 'Go on')
  const faulty = makeFaulty(store, write, at, fault)
  let driver = worlds.start({ store: faulty.store, leaseTtlMs: write === 'claim' && fault === 'reply-lost' ? 60 : 600_000 })
  void faulty.crashed.then(async () => {
    await store.releaseAll()
    driver = worlds.start()
  })
  for (let answered = 0; ;) {
    const log = await followUntil(front, store, sessionId, (seen) => done(seen) || openCount(seen) > 0)
    if (done(log)) break
    await answerNext(front, sessionId, log)
    answered += 1
    driver.coordinator.wake(sessionId)
    await followUntil(front, store, sessionId, (seen) => settledCount(seen) >= answered)
  }
  const log = await expectSound(store, sessionId)
  const ends = log.flatMap((event) => (event.type === 'TOOL_CALL_END' ? [`${event.data.name} ${event.data.status}`] : [])).sort()
  expect(ends.filter((end) => end !== 'pay ABANDONED')).toEqual(
    ends.includes('pay ABANDONED') ? ['ask_user COMPLETED', 'pay DENIED'] : ['ask_user COMPLETED', 'pay COMPLETED', 'pay DENIED'],
  )
  expect(runs.length).toBeLessThanOrEqual(1)
  if (runs.length === 1) expect(runs).toEqual([{ euros: 1 }])
  expect(worlds.faults).toEqual([])
  await worlds.stop()
  return faulty.count() >= at
}

function settledCount(log: readonly RecordedEvent[]): number {
  return log.filter(({ type }) => type === 'APPROVAL_RESOLVED' || type === 'INPUT_RESOLVED').length
}

function openCount(log: readonly RecordedEvent[]): number {
  return log.filter(({ type }) => type === 'APPROVAL_REQUESTED' || type === 'INPUT_REQUESTED').length - settledCount(log)
}

test.each(FAULTS.flatMap((fault) => (['commit', 'claim', 'appendEvents'] as const).map((write) => ({ write, fault }))))(
  'a turn that asks, whose worker fails at any $write by $fault, asks and runs nothing twice',
  async ({ write, fault }) => {
    let at = 1
    while (await run(write, at, fault)) {
      at += 1
      expect(at).toBeLessThan(MAX_WRITES)
    }
    if (write !== 'appendEvents') expect(at).toBeGreaterThan(3)
  },
  20_000,
)
