/** What each operation costs: one statement, that is one round trip, in the usual case, and never a scan of a table. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { systemClock as clock } from '../../server/clock.js'
import type { SessionStore } from '../../server/session/ports.js'
import type { Database } from '../../server/store/database.js'
import type { SqlValue } from '../../server/store/json-column.js'
import type { OpenStore } from '../../server/store/open.js'
import { explain, readsAll } from './plans.js'
import { pruneKeys } from '../../server/store/statements/prune-keys.js'
import { createSessionStore } from '../../server/store/session-store.js'
import { openTestPostgres } from '../support/databases.js'
import {
  ALICE,
  TTL_MS,
  answersTo,
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
  newKey,
  newRequest,
  newSession,
  openTurn,
  parkingCommit,
  turnRow,
  waitingEvent,
  type StoreUnderTest,
} from '../support/store-fixtures.js'

let opened: OpenStore
let spied: Database
let subject: StoreUnderTest & { readonly store: SessionStore }
const sent: { readonly name: string; readonly text: string; readonly values: readonly SqlValue[] }[] = []

beforeAll(async () => {
  opened = await openTestPostgres()
  spied = {
    ...opened.database,
    query: (statement, values) => {
      sent.push({ ...statement, values })
      return opened.database.query(statement, values)
    },
  }
  subject = { store: createSessionStore(spied, clock), clock, close: () => Promise.resolve() }
})
beforeEach(() => {
  sent.length = 0
})
afterAll(() => opened.close())

async function namesOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  sent.length = 0
  await work()
  return sent.map(({ name }) => name)
}

describe('one statement each', () => {
  it('to create, deliver, claim and look things up', async () => {
    const { store } = subject
    const [idempotency, key] = [newKey(), newKey()]
    const made = newSession(clock, { addresses: ['count:1', 'count:2'], firstDelivery: message(clock), idempotency })
    expect(await namesOf(() => store.createSession(made))).toEqual(['create-session'])
    expect(await namesOf(() => store.createSession(made))).toEqual(['create-session'])
    expect(await namesOf(() => store.deliver(made.id, message(clock), key))).toEqual(['deliver'])
    expect(await namesOf(() => store.deliver(made.id, message(clock), key))).toEqual(['deliver'])
    expect(await namesOf(() => claimDue(store, made.id, made.agent))).toEqual(['claim'])
    expect(await namesOf(() => store.findKey(key))).toEqual(['find-key'])
    expect(await namesOf(() => store.findAddress('acme', 'count:1'))).toEqual(['find-address'])
    const claim = { sessionId: made.id, address: 'count:3', claimedAt: clock.now(), most: 3 }
    expect(await namesOf(() => store.claimAddress(claim))).toEqual(['claim-address'])
    expect(await namesOf(() => store.releaseAddress(made.id, 'count:3'))).toEqual(['release-address'])
    expect(await namesOf(() => store.sweep({ agents: [made.agent], limit: 1 }))).toEqual(['sweep'])
    expect(await namesOf(() => store.loadDeliveries(made.id, 0))).toEqual(['load-deliveries'])
    expect(await namesOf(() => store.loadHistory(made.id, 0))).toEqual(['load-history'])
    expect(await namesOf(() => store.hasGrant(made.id, 'refund', ALICE))).toEqual(['has-grant'])
  })

  it('to commit, append, renew and release; one more to learn why a commit was refused', async () => {
    const { store } = subject
    const [session, other] = [await claimNew(subject), await claimNew(subject)]
    const { id } = session.facts
    const commit = newCommit(session, { events: [waitingEvent(clock)] })
    expect(await namesOf(() => store.commit(session, commit, TTL_MS))).toEqual(['commit-drive-none-ce'])
    const leases = [session.lease, other.lease]
    expect(
      await namesOf(() =>
        store.appendEvents(
          leases.map((lease) => ({ lease, events: [chunk(clock, 'x')] })),
          TTL_MS,
        ),
      ),
    ).toEqual(['append-events'])
    expect(await namesOf(() => store.renew(leases, TTL_MS))).toEqual(['renew'])
    await store.deliver(id, message(clock), null)
    const next = { ...session, revision: 1 }
    expect(await namesOf(() => store.commit(next, parkingCommit(next, clock), TTL_MS))).toEqual(['commit-park-inbox-csd', 'look'])
    expect(await namesOf(() => store.saveMemo(other.lease, { key: 'k', value: 1, at: clock.now() }))).toEqual(['save-memo'])
    expect(await namesOf(() => store.loadMemo(id, 'k'))).toEqual(['load-memo'])
    expect(await namesOf(() => store.release(leases, 'fault'))).toEqual(['release'])
    expect(await namesOf(() => store.releaseAll())).toEqual(['release-all'])
    expect(await namesOf(() => store.readEvents(id, 0, 10))).toEqual(['read-events'])
    expect(await namesOf(() => store.readTails([id]))).toEqual(['read-tails'])
  })

  it('to ask, answer and settle; one more to learn why answers were refused', async () => {
    const { store } = subject
    const session = await claimNew(subject)
    const request = newRequest(clock, openTurn(clock))
    const asking = newCommit(session, { newRequests: [request] })
    expect(await namesOf(() => store.commit(session, asking, TTL_MS))).toEqual(['commit-drive-none-cr'])
    const answer = () => answersTo(clock, [request])
    expect(await namesOf(() => store.deliver(session.facts.id, answer(), null))).toEqual(['deliver-answers'])
    expect(await namesOf(() => store.deliver(session.facts.id, answer(), null))).toEqual(['deliver-answers', 'find-closed-requests'])
    const settled = [{ id: request.id, status: 'ANSWERED', answer: null, at: clock.now() }] as const
    const grants = [{ tool: 'refund', to: ALICE, request: request.id, at: clock.now() }]
    const next = { ...session, revision: 1 }
    const settling = newCommit(next, { settledRequests: settled, grants })
    expect(await namesOf(() => store.commit(next, settling, TTL_MS))).toEqual(['commit-drive-none-cvg'])
  })

  it('no statement for nothing', async () => {
    const { store } = subject
    const work = () =>
      Promise.all([store.appendEvents([], TTL_MS), store.renew([], TTL_MS), store.release([], 'unused'), store.readTails([])])
    expect(await namesOf(work)).toEqual([])
  })
})

describe('plans', () => {
  it('of every statement go by keys: none reads a whole table or index', async () => {
    await runEverything()
    await runRequests()
    expect(await scansNow()).toEqual([])
    await opened.prisma.$executeRawUnsafe('VACUUM ANALYZE')
    expect(await scansNow()).toEqual([])
    expect(new Set(sent.map(({ name }) => name)).size).toBeGreaterThan(15)
  })

  it('of a commit find the rows that it changes by their own keys, not among all rows of the session', async () => {
    await runEverything()
    await runRequests()
    const keys = new Set<string>()
    for (const { name, text, values } of statementsByName()) {
      if (!name.startsWith('commit-')) continue
      for (const node of await explain(opened, text, values)) if (node['Index Name'] !== undefined) keys.add(node['Index Name'])
    }
    expect([...keys].filter((key) => !/^(session|address)_/.test(key)).sort()).toEqual([
      'checkpoint_pkey',
      'delivery_pkey',
      'request_pkey',
      'step_pkey',
      'tool_call_pkey',
      'turn_pkey',
    ])
  })

  function statementsByName() {
    return new Map(sent.map((statement) => [statement.name, statement])).values()
  }

  async function scansNow(): Promise<readonly unknown[]> {
    const scans = []
    for (const { name, text, values } of statementsByName()) {
      for (const node of await explain(opened, text, values)) if (readsAll(node)) scans.push([name, node])
    }
    return scans
  }

  async function runRequests(): Promise<void> {
    const { store } = subject
    const session = await claimNew(subject)
    const turn = openTurn(clock)
    const request = newRequest(clock, turn)
    await store.commit(session, newCommit(session, { newRequests: [request], turnStatus: { id: turn.id, status: 'WAITING' } }), TTL_MS)
    await store.deliver(session.facts.id, answersTo(clock, [request]), newKey())
    await store.deliver(session.facts.id, answersTo(clock, [request]), null)
    await store.hasGrant(session.facts.id, 'refund', ALICE)
    const grants = [{ tool: 'refund', to: ALICE, request: request.id, at: clock.now() }]
    const settledRequests = [{ id: request.id, status: 'ANSWERED', answer: null, at: clock.now() }] as const
    const next = { ...session, revision: 1 }
    await store.commit(next, newCommit(next, { settledRequests, grants }), TTL_MS)
    await pruneKeys(spied, session.facts.id)
  }

  async function runEverything(): Promise<void> {
    const { store } = subject
    const key = newKey()
    const session = await claimNew(subject, { addresses: [`plan:${key.key}`], idempotency: key })
    const [turn, stepId] = [openTurn(clock), ids.next('stp')]
    const call = callRow(turn.id, stepId)
    const step = { id: stepId, turnId: turn.id, index: 0, attempt: 1, model: 'm', startedAt: clock.now() }
    const closedStep = {
      id: stepId,
      status: 'COMPLETED',
      text: '',
      reasoning: null,
      finishReason: 'STOP',
      usage: null,
      error: null,
      endedAt: 1,
    } as const
    const opening = {
      openedTurn: turnRow(turn),
      openedStep: step,
      history: [{ role: 'user', text: 'x' }] as const,
      events: [waitingEvent(clock)],
    }
    const checkpoint = { ...modelling(session.checkpoint, turn, stepId), historyLength: 1 }
    await store.commit(session, newCommit(session, { ...opening, checkpoint }), TTL_MS)
    const two = { ...session, revision: 1, checkpoint }
    await store.commit(two, newCommit(two, { checkpoint: acting(checkpoint, turn, stepId, [call]), newCalls: [call], closedStep }), TTL_MS)
    const three = { ...two, revision: 2 }
    const closing = { changedCalls: [call], closedTurn: closedTurn(turn.id, clock), openedStep: { ...step, attempt: 2 } }
    await store.deliver(session.facts.id, message(clock), key)
    await store.deliver(session.facts.id, message(clock), newKey())
    await store.commit(three, endingCommit(three, clock, closing), TTL_MS)
    const seen = { ...three, inbox: 2 }
    await store.renew([session.lease], TTL_MS)
    await store.appendEvents([{ lease: session.lease, events: [chunk(clock, 'x')] }], TTL_MS)
    await store.release([session.lease], 'unused')
    await store.releaseAll()
    await store.sweep({ agents: [session.facts.agent], limit: 10 })
    await claimDue(store, session.facts.id, session.facts.agent)
    await store.commit(seen, endingCommit(seen, clock, closing), TTL_MS)
    await store.findKey(key)
    await store.findAddress(ALICE.tenant, 'plan:x')
    await store.claimAddress({ sessionId: session.facts.id, address: 'plan:y', claimedAt: clock.now(), most: 3 })
    await store.releaseAddress(session.facts.id, 'plan:y')
    await store.saveMemo(session.lease, { key: 'plan', value: 1, at: clock.now() })
    await store.loadMemo(session.facts.id, 'plan')
    await Promise.all([
      store.loadDeliveries(session.facts.id, 0),
      store.loadHistory(session.facts.id, 0),
      store.readEvents(session.facts.id, 0, 5),
    ])
    await store.readTails([session.facts.id])
  }
})
