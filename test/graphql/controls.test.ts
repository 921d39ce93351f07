import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createIdSource } from '../../server/ids.js'
import { converse, startApi, type Api } from './api.js'
import { createMutator, ANN, READER, type Mutator } from './mutate.js'

let api: Api
let mutator: Mutator
const ids = createIdSource()

beforeAll(async () => {
  api = await startApi()
  mutator = createMutator(api)
})
afterAll(() => api.close())

const run: Mutator['run'] = (...args) => mutator.run(...args)
const create: Mutator['create'] = (...args) => mutator.create(...args)
const createEnded = () => mutator.createEnded()

const UNKNOWN = ids.next('ses')

describe('cancel', () => {
  it('stops the open turn, and the session stays open', async () => {
    const id = await api.world.open('hello', 'hang', { tenant: 'default', id: 'ann', kind: 'USER' })
    await api.world.until(id, (log) => log.some(({ type }) => type === 'LLM_CHUNK'))
    const query = `query ($id: ID!) { session(id: $id) { status currentTurn { status activeMs latencyMs usage { incomplete } } } }`
    expect((await api.as(ANN, query, { id })).data).toMatchObject({
      session: { status: 'RUNNING', currentTurn: { status: 'RUNNING', latencyMs: null } },
    })
    expect(await run('cancel', { session: { id }, dropQueued: true })).toMatchObject({
      __typename: 'DeliveryPayload',
      duplicate: false,
      session: { id },
      delivery: { kind: 'CANCEL', policy: null, text: null },
    })
    await api.world.untilRest(id)
    expect((await api.as(ANN, query, { id })).data).toMatchObject({ session: { status: 'IDLE', currentTurn: null } })
  })

  it('reaches every other member of its result', async () => {
    const id = await create()
    expect(await run('cancel', { session: { id: UNKNOWN } })).toMatchObject({ __typename: 'NotFoundError' })
    expect(await run('cancel', { session: { address: 'slack:nobody' } })).toMatchObject({ __typename: 'NotFoundError' })
    expect(await run('cancel', { session: { id } }, READER)).toMatchObject({ __typename: 'ForbiddenError', code: 'FORBIDDEN' })
    expect(await run('cancel', { session: { id }, turnId: id })).toMatchObject({
      __typename: 'InvalidInputError',
      issues: [{ path: ['turnId'] }],
    })
    expect(await run('cancel', { session: { id }, idempotencyKey: 'x'.repeat(256) })).toMatchObject({ __typename: 'LimitExceededError' })
    expect(await run('cancel', { session: { id: await createEnded() } })).toMatchObject({ __typename: 'SessionEndedError' })
    await run('cancel', { session: { id }, idempotencyKey: 'cancel-once' })
    expect(await run('cancel', { session: { id }, idempotencyKey: 'cancel-once' })).toMatchObject({ duplicate: true })
    expect(await run('cancel', { session: { id }, dropQueued: true, idempotencyKey: 'cancel-once' })).toMatchObject({
      __typename: 'IdempotencyMismatchError',
    })
  })
})

const TRANSCRIPT = `query ($id: ID!) { session(id: $id) { status transcript { role text } } }`

describe('clear', () => {
  it('begins a conversation without what was said before; the log keeps it', async () => {
    const id = await converse(api, ANN, ['my secret'], 'test:clearing')
    expect((await api.as(ANN, TRANSCRIPT, { id })).data).toMatchObject({
      session: { transcript: [{ text: 'my secret' }, { role: 'ASSISTANT' }] },
    })
    expect(await run('clear', { session: { address: 'test:clearing' } })).toMatchObject({
      __typename: 'DeliveryPayload',
      session: { id },
      delivery: { kind: 'CLEAR', status: 'ACCEPTED', policy: null, text: null },
    })
    await api.world.until(id, (log) => log.some(({ type }) => type === 'CONTEXT_CLEARED'))
    expect((await api.as(ANN, TRANSCRIPT, { id })).data).toMatchObject({ session: { status: 'IDLE', transcript: [] } })
    const events = `query ($id: ID!) { session(id: $id) { events(types: [MESSAGE_RECEIVED, CONTEXT_CLEARED]) { nodes { __typename type data } } } }`
    expect((await api.as(ANN, events, { id })).data).toMatchObject({
      session: { events: { nodes: [{ data: { text: 'my secret' } }, { __typename: 'ContextCleared', data: {} }] } },
    })
    await run('send', { to: { session: id }, message: { text: 'anew' } })
    await api.world.untilRest(id)
    expect((await api.as(ANN, TRANSCRIPT, { id })).data).toMatchObject({
      session: { transcript: [{ text: 'anew' }, { role: 'ASSISTANT' }] },
    })
  })

  it('reaches every other member of its result', async () => {
    const id = await create()
    expect(await run('clear', { session: { id: UNKNOWN } })).toMatchObject({ __typename: 'NotFoundError' })
    expect(await run('clear', { session: { id } }, READER)).toMatchObject({ __typename: 'ForbiddenError' })
    expect(await run('clear', { session: { address: 'nonsense' } })).toMatchObject({ __typename: 'InvalidInputError' })
    expect(await run('clear', { session: { id }, idempotencyKey: 'x'.repeat(256) })).toMatchObject({ __typename: 'LimitExceededError' })
    expect(await run('clear', { session: { id: await createEnded() } })).toMatchObject({ __typename: 'SessionEndedError' })
    await run('clear', { session: { id }, idempotencyKey: 'clear-once' })
    expect(await run('clear', { session: { id }, idempotencyKey: 'clear-once' })).toMatchObject({ duplicate: true })
    expect(await run('clear', { session: { address: 'slack:x' }, idempotencyKey: 'clear-once' })).toMatchObject({
      __typename: 'IdempotencyMismatchError',
    })
  })
})

describe('compact', () => {
  it('is rejected, and says why: this release does not compact', async () => {
    const id = await converse(api, ANN, ['a lot'])
    const handed = await run('compact', { session: { id }, instructions: 'keep all' })
    expect(handed).toMatchObject({ __typename: 'DeliveryPayload', delivery: { kind: 'COMPACT', status: 'ACCEPTED' } })
    await api.world.until(id, (log) => log.some((event) => event.type === 'DELIVERY_SETTLED' && event.data.status === 'REJECTED'))
    const query = `query ($id: ID!) { node(id: $id) { ... on Delivery { status rejection { code } } } }`
    expect((await api.as(ANN, query, { id: (handed['delivery'] as { id: string }).id })).data).toEqual({
      node: { status: 'REJECTED', rejection: { code: 'COMPACTION_UNAVAILABLE' } },
    })
  })

  it('reaches every other member of its result', async () => {
    const id = await create()
    expect(await run('compact', { session: { id: UNKNOWN } })).toMatchObject({ __typename: 'NotFoundError' })
    expect(await run('compact', { session: { id } }, READER)).toMatchObject({ __typename: 'ForbiddenError' })
    expect(await run('compact', { session: { address: 'nonsense' } })).toMatchObject({ __typename: 'InvalidInputError' })
    expect(await run('compact', { session: { id }, instructions: 'x'.repeat(1_000_001) })).toMatchObject({
      __typename: 'LimitExceededError',
    })
    expect(await run('compact', { session: { id: await createEnded() } })).toMatchObject({ __typename: 'SessionEndedError' })
    await run('compact', { session: { id }, idempotencyKey: 'compact-once' })
    expect(await run('compact', { session: { id }, instructions: 'other', idempotencyKey: 'compact-once' })).toMatchObject({
      __typename: 'IdempotencyMismatchError',
    })
  })
})

describe('a session of mode TASK', () => {
  it('ends with its first turn', async () => {
    const id = await create({ agent: 'hello', mode: 'TASK' })
    await run('send', { to: { session: id }, message: { text: 'do it' } })
    await api.world.until(id, (log) => log.at(-1)?.type === 'SESSION_COMPLETED')
    const query = `query ($id: ID!) { session(id: $id) { mode status endReason } }`
    expect((await api.as(ANN, query, { id })).data).toEqual({ session: { mode: 'TASK', status: 'COMPLETED', endReason: 'TASK_FINISHED' } })
    expect(await run('send', { to: { session: id }, message: { text: 'more' } })).toMatchObject({ __typename: 'SessionEndedError' })
  })
})

describe('a session that may not be idle for long', () => {
  const query = `query ($id: ID!) { session(id: $id) { status endReason createdAt expiresAt } }`
  interface Shown {
    readonly session: {
      readonly status: string
      readonly endReason: string | null
      readonly createdAt: string
      readonly expiresAt: string | null
    }
  }

  it('shows when it is over, and ends then by itself', async () => {
    const id = await create({ agent: 'hello', sessionTimeoutMs: 200 })
    const { session } = (await api.as<Shown>(ANN, query, { id })).data
    expect(Date.parse(session.expiresAt ?? '') - Date.parse(session.createdAt)).toBe(200)
    await api.world.until(id, (log) => log.at(-1)?.type === 'SESSION_COMPLETED')
    expect((await api.as<Shown>(ANN, query, { id })).data.session).toMatchObject({ endReason: 'TIMEOUT', expiresAt: null })
  })

  it('is one that may be for ever when that is asked for', async () => {
    const id = await create({ sessionTimeoutMs: 0 })
    expect((await api.as<Shown>(ANN, query, { id })).data.session.expiresAt).toBeNull()
    expect(await run('createSession', { session: { agent: 'hello', sessionTimeoutMs: -1 } })).toMatchObject({
      __typename: 'InvalidInputError',
    })
  })
})

describe('end', () => {
  it('repeated gives the first end', async () => {
    const id = await converse(api, ANN, ['ending'], 'test:ending')
    const first = await run('end', { session: { address: 'test:ending' }, reason: 'solved' })
    await api.world.until(id, (log) => log.at(-1)?.type === 'SESSION_COMPLETED')
    expect(await run('end', { session: { id } })).toMatchObject({
      __typename: 'DeliveryPayload',
      duplicate: true,
      delivery: { id: (first['delivery'] as { id: string }).id },
    })
    expect(await run('end', { session: { address: 'test:ending' } })).toMatchObject({ __typename: 'NotFoundError' })
    const query = `query ($id: ID!) { session(id: $id) { status endReason endedAt addresses } }`
    expect((await api.as(ANN, query, { id })).data).toMatchObject({
      session: { status: 'COMPLETED', endReason: 'ENDED', endedAt: expect.any(String) as string, addresses: [] },
    })
  })

  it('reaches every other member of its result', async () => {
    const id = await create()
    expect(await run('end', { session: { id: UNKNOWN } })).toMatchObject({ __typename: 'NotFoundError' })
    expect(await run('end', { session: { id } }, READER)).toMatchObject({ __typename: 'ForbiddenError' })
    expect(await run('end', { session: { address: 'nonsense' } })).toMatchObject({ __typename: 'InvalidInputError' })
    expect(await run('end', { session: { id }, reason: 'x'.repeat(1001) })).toMatchObject({
      __typename: 'LimitExceededError',
      limit: 'reason: 1000',
    })
    await run('end', { session: { id }, idempotencyKey: 'end-once' })
    expect(await run('end', { session: { id }, reason: 'other', idempotencyKey: 'end-once' })).toMatchObject({
      __typename: 'IdempotencyMismatchError',
    })
    const failed = await create()
    await api.prisma.session.update({ where: { id: failed }, data: { status: 'FAILED', endReason: 'FAULT', endedAt: new Date() } })
    await api.prisma.sessionHead.update({ where: { sessionId: failed }, data: { open: false } })
    expect(await run('end', { session: { id: failed } })).toMatchObject({ __typename: 'SessionEndedError', session: { status: 'FAILED' } })
  })
})

describe('state', () => {
  it('is shown to an admin alone', async () => {
    const id = await create()
    await api.prisma.checkpoint.update({ where: { sessionId: id }, data: { state: { cart: { items: ['tea'] } } } })
    const query = `query ($id: ID!) { session(id: $id) { state } }`
    expect((await api.as('ann;admin', query, { id })).data).toEqual({ session: { state: { cart: { items: ['tea'] } } } })
    expect((await api.as(ANN, query, { id })).data).toEqual({ session: { state: null } })
  })
})

describe('updateSession', () => {
  it('changes what is given and leaves the rest', async () => {
    const id = await create({ title: 'Old', metadata: { a: 1 } })
    expect(await run('updateSession', { session: id, title: 'New' })).toMatchObject({ session: { title: 'New', metadata: { a: 1 } } })
    expect(await run('updateSession', { session: id, title: null, metadata: { b: 2 } })).toMatchObject({
      session: { title: null, metadata: { b: 2 } },
    })
    expect(await run('updateSession', { session: id, metadata: null })).toMatchObject({ session: { title: null, metadata: {} } })
  })

  it('keeps text that a database refuses', async () => {
    const id = await create()
    expect(await run('updateSession', { session: id, title: 'a\0b', metadata: { 'k\0': '\ud800' } })).toMatchObject({
      session: { title: 'a\ufffdb', metadata: { 'k\ufffd': '\ufffd' } },
    })
  })

  it('reaches every other member of its result', async () => {
    const id = await create()
    expect(await run('updateSession', { session: UNKNOWN, title: 'x' })).toMatchObject({ __typename: 'NotFoundError' })
    expect(await run('updateSession', { session: id, title: 'x' }, READER)).toMatchObject({ __typename: 'ForbiddenError' })
    expect(await run('updateSession', { session: 'nonsense' })).toMatchObject({ __typename: 'InvalidInputError' })
    expect(await run('updateSession', { session: id, title: 'x'.repeat(201) })).toMatchObject({ __typename: 'LimitExceededError' })
  })
})
