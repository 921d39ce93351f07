/** Whatever comes, in whatever order, and whoever dies: every delivery is answered once, in order, and the log and history keep their rules. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { systemClock } from '../../server/clock.js'
import type { DeliveryId, RequestId, SessionId } from '../../server/ids.js'
import type { DeliveryContent } from '../../server/session/deliveries.js'
import type { RecordedEvent } from '../../server/session/events.js'
import type { Principal } from '../../server/session/principal.js'
import type { SessionStore } from '../../server/session/ports.js'
import { NO_ANSWER } from '../../server/session/requests.js'
import { MAX_CLAIMS } from '../../server/session/retry.js'
import { expectSound } from '../support/expect-sound.js'
import { makeFaulty } from '../support/faulty-store.js'
import { createMemoryStore } from '../support/memory-store.js'
import { ALICE, readLog, type World } from '../support/world.js'
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
  while (accepted.length > 0) {
    driver.current().coordinator.wake(sessionId)
    const settled = afterDeliveries(accepted.length)
    const log = await followUntil(front, worlds.store, sessionId, (seen) => settled(seen) || waitsForPeople(seen))
    const [requestId] = openRequests(log)
    if (settled(log) || requestId === undefined) break
    const content = toAnswers([requestId], false)
    const outcome = await front.intake.deliver(ALICE, { kind: 'session', sessionId }, content, null)
    if (outcome.kind === 'accepted' && outcome.deliveryId !== null) accepted.push({ id: outcome.deliveryId, by: ALICE, content })
    // Somebody has answered already: whoever drives has to get his turn.
    else await new Promise((resolve) => setImmediate(resolve))
  }
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
  const by = 'by' in action ? action.by : ALICE
  const open = openRequests(await readLog(front.store, sessionId))
  if (action.kind === 'respond' && open.length === 0) return null
  const content = toContent(action, index, open)
  const outcome = await front.intake.deliver(by, { kind: 'session', sessionId }, content, null)
  if (outcome.kind !== 'accepted' || outcome.deliveryId === null) {
    expect(content.kind === 'ANSWERS' ? ['ended', 'not-pending'] : ['ended']).toContain(outcome.kind)
    return null
  }
  return { id: outcome.deliveryId, by, content }
}

function toAnswers(requests: readonly RequestId[], isApproved: boolean): DeliveryContent {
  const value = { ...NO_ANSWER, decision: isApproved ? 'APPROVE' : 'DENY', optionIds: ['option-1'], reason: null } as const
  return { kind: 'ANSWERS', answers: requests.map((requestId) => ({ requestId, ...value })) }
}

function toContent(action: Exclude<Action, { kind: 'pass' }>, index: number, open: readonly RequestId[]): DeliveryContent {
  switch (action.kind) {
    case 'say':
      return { kind: 'MESSAGE', text: action.text, policy: action.policy }
    case 'respond': {
      const first = action.which % open.length
      return toAnswers(open.slice(first, first + action.count), action.isApproved)
    }
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

  const words = answersInWords(log)
  const messages = accepted.filter((one) => one.content.kind === 'MESSAGE' && !words.has(one.id))
  const applied = messages.filter((one) => settled.some(({ delivery, status }) => delivery === one.id && status === 'APPLIED'))
  expectReceivedInOrder(log, applied)

  const isEnded = accepted.some(({ id, content }) => content.kind === 'END' && !wasStalled(id))
  const mayReject = isEnded || accepted.some(({ id, content }) => wasStalled(id) || rejectsOthers(content))
  if (!mayReject) expect(applied).toEqual(messages)
  if (isEnded) expect(log.at(-1)?.type).toMatch(/^SESSION_(COMPLETED|CANCELLED)$/)
  expectOwnWords(log, accepted)
}

/** Messages that were taken as answers: settled right before the request that they answer, by whoever sent them. */
function answersInWords(log: readonly RecordedEvent[]): ReadonlySet<DeliveryId> {
  const received = new Set(log.flatMap((event) => (event.type === 'MESSAGE_RECEIVED' ? [event.data.delivery] : [])))
  return new Set(
    log.flatMap((event, index) => {
      const next = log[index + 1]
      const isAnswer = next?.type === 'APPROVAL_RESOLVED' || next?.type === 'INPUT_RESOLVED'
      if (event.type !== 'DELIVERY_SETTLED' || event.data.status !== 'APPLIED' || !isAnswer) return []
      return received.has(event.data.delivery) ? [] : [event.data.delivery]
    }),
  )
}

/** Asked and not settled yet, in their order. */
function openRequests(log: readonly RecordedEvent[]): readonly RequestId[] {
  const open = new Set<RequestId>()
  for (const event of log) {
    if (event.type === 'APPROVAL_REQUESTED' || event.type === 'INPUT_REQUESTED') open.add(event.data.request)
    if (event.type === 'APPROVAL_RESOLVED' || event.type === 'APPROVAL_CANCELLED' || event.type === 'INPUT_RESOLVED')
      open.delete(event.data.request)
  }
  return [...open]
}

function waitsForPeople(log: readonly RecordedEvent[]): boolean {
  const last = log.findLast(({ type }) => /^TURN_/.test(type))
  return last?.type === 'TURN_WAITING' && openRequests(log).length > 0
}

function rejectsOthers(content: DeliveryContent): boolean {
  return content.kind === 'CLEAR' || (content.kind === 'CANCEL' && content.dropQueued)
}

/**
 * Of one person what joins a turn keeps its order, and what is queued for the next; between the two one may pass the other. A queued message
 * joins when it comes after a request that it does not answer.
 */
function expectReceivedInOrder(log: readonly RecordedEvent[], applied: readonly Accepted[]): void {
  const received = log.flatMap((event) => (event.type === 'MESSAGE_RECEIVED' ? [event.data.delivery] : []))
  expect([...received].sort()).toEqual(applied.map((one) => one.id).sort())
  const starting = new Set(log.flatMap((event) => (event.type === 'TURN_STARTED' ? event.data.deliveries : [])))
  const isQueued = ({ id, content }: Accepted): boolean => content.kind === 'MESSAGE' && content.policy === 'QUEUE' && starting.has(id)
  const lane = (one: Accepted): string => `${one.by.id} ${isQueued(one) ? 'queued' : 'joins'}`
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

const RUNS = Number(process.env['TEST_RUNS'] ?? 500)
const LIMIT_MS = 30_000 + RUNS * 200

test(
  'any life of a session answers every delivery once and in order, and leaves a sound log and history',
  async () => {
    await fc.assert(fc.asyncProperty(life, live), {
      numRuns: RUNS,
      // A life that never ends is told, with what led to it.
      timeout: 10_000,
      interruptAfterTimeLimit: LIMIT_MS,
      markInterruptAsFailure: true,
      endOnFailure: false,
    })
  },
  LIMIT_MS + 20_000,
)
