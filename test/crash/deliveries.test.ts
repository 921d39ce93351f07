/** The table of deliveries as a client meets it: every cell once over HTTP, through an api process, with the session driven in another. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NotFoundError, SessionEndedError, type Answer, type Session, type SessionEvent } from '../../sdk/index.js'
import { createIdSource, storedId } from '../../server/ids.js'
import { CONDITIONS, DELIVERY_TABLE, FORMS, type Condition, type Form } from '../../server/session/delivery-table.js'
import { createTestDatabase, type TestDatabase } from '../support/databases.js'
import { expectSound } from '../support/expect-sound.js'
import { startRedisServer, type RedisServer } from '../support/redis-server.js'
import { Witness } from '../support/witness.js'
import type { ServerProcess } from '../support/server-process.js'
import { Stage } from './stage.js'

const NO_REQUEST = createIdSource().next('req')

let redis: RedisServer
let database: TestDatabase
let stage: Stage
let api: ServerProcess
const over = new AbortController()

beforeAll(async () => {
  ;[redis, database] = await Promise.all([startRedisServer(), createTestDatabase()])
  stage = await Stage.create({ databaseUrl: database.url, redis: { url: redis.url, prefix: 'cells' }, leaseTtlMs: 5000 })
  ;[api] = await Promise.all([stage.deployment.start({ role: 'api' }), stage.deployment.start({ role: 'worker' })])
})
afterAll(async () => {
  over.abort(new Error('the test is over'))
  await stage.close()
  await database.drop()
  await redis.close()
})

/** What is sent, and the event after which the session is at it. */
const CONDITION: Readonly<Record<Condition, readonly [verb: string, reached: SessionEvent['type']]>> = {
  'at-rest': ['hello', 'SESSION_WAITING'],
  'model-silent': ['think', 'STEP_STARTED'],
  'model-speaking': ['story', 'LLM_CHUNK'],
  'backing-off': ['limited', 'STEP_RETRYING'],
  'tools-running': ['charge', 'TOOL_CALL_START'],
  'request-open': ['guarded', 'TURN_WAITING'],
  'over-limit': ['spend', 'TURN_WAITING'],
  stopping: ['stubborn', 'TOOL_CALL_START'],
  ended: ['hello', 'SESSION_WAITING'],
}

interface Played {
  readonly condition: Condition
  readonly session: Session
  readonly witness: Witness
  readonly turnId: string | null
}

/** A session that is at it. */
async function open(condition: Condition, gate: string): Promise<Played> {
  const [verb, reached] = CONDITION[condition]
  const agent = condition === 'over-limit' ? 'thrifty' : 'crash'
  const { session } = await stage.deployment.client(api).agent(agent).send(`${verb} ${gate}`).accepted
  const witness = new Witness(session, over.signal)
  const { event } = await witness.until(reached)
  if (condition === 'stopping') {
    const { delivery } = await session.cancel()
    await witness.until((told) => told.type === 'DELIVERY_SETTLED' && told.delivery === delivery.id)
  }
  if (condition === 'ended') {
    await session.end()
    await witness.ended
  }
  return { condition, session, witness, turnId: event.turnId }
}

/** The id of the delivery. */
async function deliver({ session, witness, condition }: Played, form: Form): Promise<string> {
  switch (form) {
    case 'answers':
      return (await session.respond([toAnswer(witness)])).delivery.id
    case 'steer':
      return (await session.send('and this').accepted).delivery.id
    case 'queue':
      // Of a turn that waits for its person, his own words are an answer or a correction.
      return (
        await session.send('and this', { turnPolicy: 'QUEUE', ...(condition === 'request-open' && { actor: { id: 'bob' } }) }).accepted
      ).delivery.id
    case 'cancel':
      return (await session.cancel()).delivery.id
    case 'compact':
      return (await session.compact()).delivery.id
    case 'clear':
      return (await session.clear()).delivery.id
    case 'end':
      return (await session.end()).delivery.id
  }
}

/** Yes to what is asked; of a session that asks nothing, to a request that there is not. */
function toAnswer({ seen }: Witness): Answer {
  const asked = seen.find(({ event }) => event.type === 'APPROVAL_REQUESTED' || event.type === 'INPUT_REQUESTED')?.event
  if (asked?.type === 'INPUT_REQUESTED') return { requestId: asked.request, optionIds: ['continue'] }
  return { requestId: asked?.type === 'APPROVAL_REQUESTED' ? asked.request : NO_REQUEST, decision: 'APPROVE' }
}

/** At this moment, as far as it was told. */
function openTurns({ seen }: Witness): number {
  const count = (pattern: RegExp): number => seen.filter(({ event }) => pattern.test(event.type)).length
  return count(/^TURN_STARTED$/) - count(/^TURN_(COMPLETED|FAILED|CANCELLED)$/)
}

/** What the log must tell of it once all is over, with the turn that was open. */
function expectTold(condition: Condition, form: Form, { witness, turnId }: Played, deliveryId: string): void {
  const told = witness.seen.map(({ event }) => event)
  const settled = told.find((event) => event.type === 'DELIVERY_SETTLED' && event.delivery === deliveryId)
  const at = (type: SessionEvent['type']): number => told.findIndex((event) => event.type === type && event.turnId === turnId)
  const has = (type: SessionEvent['type']): boolean => told.some((event) => event.type === type)
  const steered = told.some((event) => event.type === 'STEP_INTERRUPTED' && event.reason === 'STEERED')
  const { does } = DELIVERY_TABLE[condition][form]
  expect(settled).toMatchObject({ status: form === 'compact' ? 'REJECTED' : 'APPLIED' })
  // What joins later may be seen only after the tool has ended and the next call has begun: then it is that call that it interrupts.
  if (does !== 'join-later') expect(steered).toBe(does === 'interrupt')
  expect(has('CONTEXT_CLEARED')).toBe(form === 'clear')
  expect(has('SESSION_CANCELLED')).toBe(form === 'end' && condition !== 'at-rest')
  const isCancelled = ['cancel', 'clear', 'end'].includes(form) ? condition !== 'at-rest' : condition === 'stopping'
  expect(at('TURN_CANCELLED') !== -1).toBe(isCancelled)
  if (settled?.type !== 'DELIVERY_SETTLED' || (form !== 'steer' && form !== 'queue')) return
  const joins =
    does === 'interrupt' ||
    does === 'withdraw' ||
    does === 'join' ||
    (does === 'join-later' && condition === 'tools-running') ||
    (condition === 'over-limit' && form === 'steer')
  expect(settled.turn === turnId).toBe(joins)
}

const cells = CONDITIONS.filter((condition) => condition !== 'ended').flatMap((condition) => FORMS.map((form) => ({ condition, form })))

describe.concurrent('over HTTP', () => {
  test.each(cells)('while $condition, $form: is told as the table says', async ({ condition, form }) => {
    const gate = `${condition}-${form}`
    const played = await open(condition, gate)
    const { does } = DELIVERY_TABLE[condition][form]
    if (does === 'refuse') {
      await expect(deliver(played, form)).rejects.toThrow(NotFoundError)
      await stage.openGate(gate)
      await played.session.end()
      return
    }
    const deliveryId = await deliver(played, form)
    const waits = ['wait', 'join-later'].includes(does)
    if (!waits && does !== 'answer') await untilOver(played, deliveryId, condition)
    await stage.openGate(gate)
    if (waits && (condition === 'request-open' || condition === 'over-limit')) await played.session.respond([toAnswer(played.witness)])
    await untilOver(played, deliveryId, 'at-rest')
    if (form !== 'end') await played.session.end()
    await played.witness.ended
    expectTold(condition, form, played, deliveryId)
    await expectSound(stage.database.store, storedId('ses', played.session.id))
  })

  /** The delivery is settled and no turn is open; one that is stopped waits for its tool still. */
  async function untilOver({ witness }: Played, deliveryId: string, condition: Condition): Promise<void> {
    await witness.until((event) => event.type === 'DELIVERY_SETTLED' && event.delivery === deliveryId)
    if (condition !== 'stopping') await witness.until(() => openTurns(witness) === 0)
  }

  test.each(FORMS)('while ended, %s: is refused', async (form) => {
    const played = await open('ended', 'none')
    if (form === 'end') expect((await played.session.end()).duplicate).toBe(true)
    else await expect(deliver(played, form)).rejects.toThrow(form === 'answers' ? NotFoundError : SessionEndedError)
  })
})
