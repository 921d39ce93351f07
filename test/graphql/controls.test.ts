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
