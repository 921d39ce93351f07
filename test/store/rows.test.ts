/** What the read side finds in the rows that commits wrote. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock as clock } from '../../server/clock.js'
import { applyCommit } from '../../server/session/session.js'
import { NO_USAGE } from '../../server/session/usage.js'
import type { OpenStore } from '../../server/store/open.js'
import { openTestEmbedded } from '../support/databases.js'
import {
  ALICE,
  TTL_MS,
  acting,
  callRow,
  chunk,
  claimDue,
  claimNew,
  closedTurn,
  endingCommit,
  ids,
  message,
  modelling,
  newCommit,
  newSession,
  openTurn,
  statusChange,
  turnRow,
} from '../support/store-fixtures.js'

let opened: OpenStore
beforeAll(async () => {
  opened = await openTestEmbedded()
})
afterAll(() => opened.close())

const FAILURE = { code: 'STEP_FAILED', message: 'no', retryable: true }
const USAGE = { ...NO_USAGE, promptTokens: 12, completionTokens: 3 }

it('a turn with its steps, calls and delivery, as it goes', async () => {
  const { store, prisma } = opened
  const session = await claimNew({ ...opened, clock })
  const [turn, stepId] = [openTurn(clock), ids.next('stp')]
  const step = { id: stepId, turnId: turn.id, index: 0, attempt: 1, model: 'scripted', startedAt: clock.now() }
  const first = newCommit(session, {
    checkpoint: modelling(session.checkpoint, turn, stepId),
    openedTurn: turnRow(turn),
    openedStep: step,
    settled: session.deliveries.map(({ id }) => ({ id, status: 'APPLIED', turnId: turn.id, rejection: null, at: clock.now() })),
    session: statusChange('RUNNING', clock),
  })
  await store.commit(session, first, TTL_MS)
  const running = await prisma.turn.findUniqueOrThrow({ where: { id: turn.id }, include: { steps: true, deliveries: true } })
  expect(running).toMatchObject({
    number: 1,
    status: 'RUNNING',
    trigger: 'MESSAGE',
    principal: ALICE,
    userInput: 'hello',
    endedAt: null,
    usage: NO_USAGE,
  })
  expect(running.steps).toMatchObject([{ id: stepId, attempt: 1, status: 'RUNNING', model: 'scripted', endedAt: null }])
  expect(running.deliveries).toMatchObject([
    { status: 'APPLIED', kind: 'MESSAGE', policy: 'STEER', byId: 'alice', settledAt: expect.any(Date) },
  ])

  const two = applyCommit(session, first)
  const closedStep = {
    id: stepId,
    status: 'FAILED',
    text: null,
    reasoning: 'r',
    finishReason: null,
    usage: USAGE,
    error: FAILURE,
    endedAt: 5000,
  } as const
  const failing = newCommit(two, { closedStep })
  await store.commit(two, failing, TTL_MS)
  expect(await prisma.step.findUnique({ where: { id: stepId } })).toMatchObject({
    status: 'FAILED',
    reasoning: 'r',
    usage: USAGE,
    error: FAILURE,
    endedAt: new Date(5000),
  })

  const three = applyCommit(two, failing)
  const retrying = newCommit(three, { openedStep: { ...step, attempt: 2 } })
  await store.commit(three, retrying, TTL_MS)
  expect(await prisma.step.findUnique({ where: { id: stepId } })).toMatchObject({
    attempt: 2,
    status: 'RUNNING',
    reasoning: null,
    usage: null,
    error: null,
    endedAt: null,
  })

  const four = applyCommit(three, retrying)
  const call = callRow(turn.id, stepId, { label: 'Adds', rawInput: '{' })
  const answered = newCommit(four, {
    checkpoint: acting(four.checkpoint, turn, stepId, [call]),
    closedStep: { ...closedStep, status: 'COMPLETED', text: 'said', finishReason: 'TOOL_CALLS', error: null },
    newCalls: [call],
  })
  await store.commit(four, answered, TTL_MS)
  const five = applyCommit(four, answered)
  const end = { ...closedTurn(turn.id, clock), status: 'FAILED', output: 'said', error: FAILURE, usage: USAGE, endedAt: 6000 } as const
  await store.commit(five, endingCommit(five, clock, { closedTurn: end }), TTL_MS)
  const ended = await prisma.turn.findUniqueOrThrow({ where: { id: turn.id }, include: { steps: true, toolCalls: true } })
  expect(ended).toMatchObject({ status: 'FAILED', output: 'said', error: FAILURE, usage: USAGE, activeMs: 12, endedAt: new Date(6000) })
  expect(ended.steps).toMatchObject([{ status: 'COMPLETED', text: 'said', finishReason: 'TOOL_CALLS' }])
  expect(ended.toolCalls).toMatchObject([
    { name: 'add', label: 'Adds', input: { a: 1 }, rawInput: '{', status: 'REQUESTED', startedAt: null },
  ])
  const over = await prisma.session.findUniqueOrThrow({ where: { id: session.facts.id }, include: { head: true } })
  expect(over).toMatchObject({ status: 'COMPLETED', endReason: 'ENDED', error: null, endedAt: expect.any(Date) })
  expect(over.head).toMatchObject({ open: false, owner: null, leaseUntil: null, wakeAt: null, turnId: null, revision: 5 })
})

it('a turn that was cancelled before it began is one row, closed', async () => {
  const { store, prisma } = opened
  const session = await claimNew({ ...opened, clock })
  const turn = openTurn(clock)
  await store.commit(session, newCommit(session, { openedTurn: turnRow(turn), closedTurn: closedTurn(turn.id, clock) }), TTL_MS)
  expect(await prisma.turn.findMany({ where: { sessionId: session.facts.id } })).toMatchObject([
    { id: turn.id, number: 1, status: 'CANCELLED', userInput: 'hello', activeMs: 12, endedAt: expect.any(Date) },
  ])
})

it('while a session is driven its lease moves on and its wake time, which an index follows, stays what it was', async () => {
  const { store, prisma } = opened
  const made = newSession(clock, { firstDelivery: message(clock) })
  const sessionId = made.id
  await store.createSession(made)
  const read = () => prisma.sessionHead.findUniqueOrThrow({ where: { sessionId } })
  const due = await read()
  const session = await claimDue(store, sessionId, made.agent)
  const claimed = await read()
  const turn = openTurn(clock)
  await store.commit(session, newCommit(session, { checkpoint: modelling(session.checkpoint, turn, ids.next('stp')) }), TTL_MS)
  const committed = await read()
  await store.appendEvents([{ lease: session.lease, events: [chunk(clock, 'x')] }], TTL_MS)
  await store.renew([session.lease], TTL_MS)
  await store.deliver(sessionId, message(clock), null)
  const last = await read()
  expect(committed).toMatchObject({ turnId: turn.id, owner: session.lease.owner, epoch: 1, revision: 1, wakeAt: due.wakeAt })
  expect([claimed.wakeAt, last.wakeAt]).toEqual([due.wakeAt, due.wakeAt])
  expect(Math.abs((claimed.leaseUntil?.getTime() ?? 0) - clock.now() - TTL_MS)).toBeLessThan(10_000)
  expect(committed.leaseUntil?.getTime()).toBeGreaterThan(claimed.leaseUntil?.getTime() ?? 0)
  expect(last.leaseUntil?.getTime()).toBeGreaterThan(committed.leaseUntil?.getTime() ?? 0)
})

it('a commit ends the suspicion under which a claim had put off the next one', async () => {
  const { store, prisma } = opened
  const first = await claimNew({ ...opened, clock })
  await store.release([first.lease], 'fault')
  await prisma.sessionHead.update({ where: { sessionId: first.facts.id }, data: { wakeAt: new Date(clock.now() - 1000) } })
  const session = await claimDue(store, first.facts.id, first.facts.agent)
  const read = () => prisma.sessionHead.findUniqueOrThrow({ where: { sessionId: first.facts.id } })
  const suspected = await read()
  expect(suspected.wakeAt?.getTime()).toBeGreaterThan(suspected.leaseUntil?.getTime() ?? Infinity)
  await store.commit(session, newCommit(session, {}), TTL_MS)
  expect((await read()).wakeAt?.getTime()).toBeLessThanOrEqual(clock.now())
})
