/** Whatever comes, in whatever order, and whoever dies: every delivery is answered once, in order, and the log and history keep their rules. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { systemClock } from '../../server/clock.js'
import type { DeliveryId, SessionId } from '../../server/ids.js'
import type { DeliveryContent } from '../../server/session/deliveries.js'
import type { RecordedEvent } from '../../server/session/events.js'
import type { Principal } from '../../server/session/principal.js'
import type { SessionStore } from '../../server/session/ports.js'
import { MAX_CLAIMS } from '../../server/session/retry.js'
import { expectSound } from '../support/expect-sound.js'
import { makeFaulty } from '../support/faulty-store.js'
import { createMemoryStore } from '../support/memory-store.js'
import { ALICE, type World } from '../support/world.js'
import { interpose } from './interposed-store.js'
import { createObedientAgent, life, type Action, type Failing, type Life } from './sessions-at-random.js'
import { afterDeliveries, createGate, createWorlds, followUntil, type Worlds } from './worlds.js'

interface Accepted {
  readonly id: DeliveryId
  readonly by: Principal
  readonly content: DeliveryContent
}

/** A store whose claims count so many before them, at the given ones, that the session is given up. */
function stallAt(store: SessionStore, stalls: readonly number[]): SessionStore {
  let claims = 0
  return interpose(store, {
    async claim(...args) {
      const session = await store.claim(...args)
      if (session === 'not-due') return session
      claims += 1
      return stalls.includes(claims) ? { ...session, claims: MAX_CLAIMS + 1 } : session
    },
  })
}

/** Keeps one process alive that drives; when it dies the next one takes over. */
function keepAlive(worlds: Worlds, failures: readonly Failing[]): { current(): World } {
  const [failure, ...rest] = failures
  if (failure === undefined) {
    const healthy = worlds.start()
    return { current: () => healthy }
  }
  const faulty = makeFaulty(worlds.store, failure.write, failure.at, failure.fault)
  const world = worlds.start({ store: faulty.store })
  let next: { current(): World } | null = null
  void faulty.crashed.then(async () => {
    await worlds.store.releaseAll()
    next = keepAlive(worlds, rest)
  })
  return { current: () => next?.current() ?? world }
}

async function live({ actions, failures, stalls }: Life): Promise<void> {
  const release = createGate()
  const { agent, runs } = createObedientAgent(release)
  const worlds = createWorlds([agent], stallAt(createMemoryStore(systemClock), stalls))
  const front = worlds.start({ slots: 0 })
  const spec = { agent: 'support', mode: null, idleTimeoutMs: null, title: null, metadata: {}, addresses: [], history: [] }
  const created = await front.intake.create(ALICE, spec, null)
  if (created.kind !== 'accepted') throw new Error(created.kind)
  const { sessionId } = created
  const driver = keepAlive(worlds, failures)
  const accepted: Accepted[] = []
  for (const [index, action] of actions.entries()) {
    const delivered = await act(front, sessionId, action, index)
    if (delivered !== null) accepted.push(delivered)
    driver.current().coordinator.wake(sessionId)
  }
  release.open()
  driver.current().coordinator.wake(sessionId)
  if (accepted.length > 0) await followUntil(front, worlds.store, sessionId, afterDeliveries(accepted.length))
  const log = await expectSound(worlds.store, sessionId)
  expectAnswered(log, accepted)
  if (stalls.length === 0) expect(JSON.stringify(log)).not.toContain('SESSION_STALLED')
  expect(new Set(runs).size).toBe(runs.length)
  expect(worlds.faults).toEqual([])
  await worlds.stop()
}

/** What was accepted; null when nothing was asked, or the session had ended. */
async function act(front: World, sessionId: SessionId, action: Action, index: number): Promise<Accepted | null> {
  if (action.kind === 'pass') {
    for (let tick = 0; tick < action.ticks; tick += 1) await new Promise((resolve) => setImmediate(resolve))
    return null
  }
  const by = action.kind === 'send' ? action.by : ALICE
  const content = toContent(action, index)
  const outcome = await front.intake.deliver(by, { kind: 'session', sessionId }, content, null)
  if (outcome.kind !== 'accepted' || outcome.deliveryId === null) {
    expect(outcome.kind).toBe('ended')
    return null
  }
  return { id: outcome.deliveryId, by, content }
}

function toContent(action: Exclude<Action, { kind: 'pass' }>, index: number): DeliveryContent {
  switch (action.kind) {
    case 'send':
      return { kind: 'MESSAGE', text: `${action.behaviour} #${index}`, policy: action.policy }
    case 'cancel':
      return { kind: 'CANCEL', turnId: null, dropQueued: action.dropQueued }
    case 'clear':
      return { kind: 'CLEAR' }
    case 'compact':
      return { kind: 'COMPACT', instructions: null }
    case 'end':
      return { kind: 'END', reason: null }
  }
}

function expectAnswered(log: readonly RecordedEvent[], accepted: readonly Accepted[]): void {
  const settled = log.flatMap((event) => (event.type === 'DELIVERY_SETTLED' ? [event.data] : []))
  const wasStalled = (id: DeliveryId): boolean => settled.some(({ delivery, reason }) => delivery === id && reason === 'SESSION_STALLED')
  expect(settled.map((one) => one.delivery).sort()).toEqual(accepted.map((one) => one.id).sort())

  const messages = accepted.filter((one) => one.content.kind === 'MESSAGE')
  const applied = messages.filter((one) => settled.some(({ delivery, status }) => delivery === one.id && status === 'APPLIED'))
  expectReceivedInOrder(log, applied)

  const isEnded = accepted.some(({ id, content }) => content.kind === 'END' && !wasStalled(id))
  const mayReject = isEnded || accepted.some(({ id, content }) => wasStalled(id) || rejectsOthers(content))
  if (!mayReject) expect(applied).toEqual(messages)
  if (isEnded) expect(log.at(-1)?.type).toMatch(/^SESSION_(COMPLETED|CANCELLED)$/)
  expectOwnWords(log, accepted)
}

function rejectsOthers(content: DeliveryContent): boolean {
  return content.kind === 'CLEAR' || (content.kind === 'CANCEL' && content.dropQueued)
}

/** Of one person what steers keeps its order, and what is queued; between the two one may pass the other. */
function expectReceivedInOrder(log: readonly RecordedEvent[], applied: readonly Accepted[]): void {
  const received = log.flatMap((event) => (event.type === 'MESSAGE_RECEIVED' ? [event.data.delivery] : []))
  expect([...received].sort()).toEqual(applied.map((one) => one.id).sort())
  const lane = ({ by, content }: Accepted): string => `${by.id} ${content.kind === 'MESSAGE' ? content.policy : ''}`
  for (const name of new Set(applied.map(lane))) {
    const sent = applied.filter((one) => lane(one) === name).map((one) => one.id)
    expect(received.filter((id) => sent.includes(id))).toEqual(sent)
  }
}

/** Every message of a turn is of the person whom it serves. */
function expectOwnWords(log: readonly RecordedEvent[], accepted: readonly Accepted[]): void {
  const served = new Map(log.flatMap((event) => (event.type === 'TURN_STARTED' ? [[event.turnId, event.data.principal.id]] : [])))
  for (const event of log) {
    if (event.type !== 'MESSAGE_RECEIVED') continue
    expect(event.data.by.id).toBe(served.get(event.turnId))
    expect(event.data.by.id).toBe(accepted.find(({ id }) => id === event.data.delivery)?.by.id)
  }
}

test('any life of a session answers every delivery once and in order, and leaves a sound log and history', async () => {
  await fc.assert(fc.asyncProperty(life, live), {
    numRuns: 150,
    endOnFailure: false,
    interruptAfterTimeLimit: 15_000,
    markInterruptAsFailure: false,
  })
}, 20_000)
