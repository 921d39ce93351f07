import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createIdSource, type SessionId } from '../../server/ids.js'
import { converse, startApi, type Api } from './api.js'

let api: Api
const ANN = 'ann'
const READER = 'ann;sessions:read'
const ids = createIdSource()

beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

type Outcome = Readonly<Record<string, unknown>> & {
  readonly __typename: string
  readonly session?: { readonly id: SessionId; readonly status: string }
}

const PROBLEMS = `... on Problem { code message } ... on NotFoundError { id } ... on InvalidInputError { issues { path message } }
  ... on LimitExceededError { limit retryAfterMs }`
const ENDED = `... on SessionEndedError { session { id status } }`
const TAKEN = `... on AddressTakenError { address holder }`
const HANDED = `... on DeliveryPayload { duplicate session { id } delivery { id kind status position by { id } policy text } }`
const DOCUMENTS = {
  createSession: `mutation ($input: CreateSessionInput!) { createSession(input: $input) { __typename ${PROBLEMS} ${TAKEN}
    ... on CreateSessionPayload { duplicate session { id status title metadata addresses transcript { role text } } } } }`,
  send: `mutation ($input: SendInput!) { send(input: $input) { __typename ${PROBLEMS} ${ENDED} ${TAKEN}
    ... on SendPayload { created duplicate session { id status } delivery { id kind status position policy text by { id } } } } }`,
  cancel: `mutation ($input: CancelInput!) { cancel(input: $input) { __typename ${PROBLEMS} ${ENDED} ${HANDED} } }`,
  end: `mutation ($input: EndInput!) { end(input: $input) { __typename ${PROBLEMS} ${ENDED} ${HANDED} } }`,
  updateSession: `mutation ($input: UpdateSessionInput!) { updateSession(input: $input) { __typename ${PROBLEMS}
    ... on SessionPayload { session { id title metadata updatedAt } } } }`,
} as const
type Name = keyof typeof DOCUMENTS

async function run(name: Name, input: object, caller = ANN): Promise<Outcome> {
  const { data, errors } = await api.as<Record<Name, Outcome>>(caller, DOCUMENTS[name], { input })
  expect(errors).toBeUndefined()
  return data[name]
}

async function create(more: object = {}, caller = ANN): Promise<SessionId> {
  const outcome = await run('createSession', { session: { agent: 'support', ...more } }, caller)
  if (outcome.session === undefined) throw new Error(JSON.stringify(outcome))
  return outcome.session.id
}

/** Ended by its driver, through the API. */
async function createEnded(): Promise<SessionId> {
  const id = await converse(api, ANN, [ids.next('req')])
  await run('end', { session: { id } })
  await api.world.untilRest(id)
  await api.world.until(id, (log) => log.at(-1)?.type === 'SESSION_COMPLETED')
  return id
}

const UNKNOWN = ids.next('ses')
const text = (value: string) => ({ message: { text: value } })

describe('createSession', () => {
  it('parks a session with everything that it was given', async () => {
    const session = {
      agent: 'support',
      title: 'Order 1042',
      metadata: { order: 1042 },
      addresses: ['slack:create', 'slack:create', 'mail:a@b'],
      history: [
        { role: 'USER', text: 'It is late.' },
        { role: 'ASSISTANT', text: 'I see.' },
      ],
    }
    expect(await run('createSession', { session })).toMatchObject({
      __typename: 'CreateSessionPayload',
      duplicate: false,
      session: {
        status: 'CREATED',
        title: 'Order 1042',
        metadata: { order: 1042 },
        addresses: ['mail:a@b', 'slack:create'],
        transcript: session.history,
      },
    })
  })

  it('repeated with its key gives the first, and with another input a mismatch', async () => {
    const first = await run('createSession', { session: { agent: 'support' }, idempotencyKey: 'once' })
    const again = await run('createSession', { session: { agent: 'support' }, idempotencyKey: 'once' })
    expect(again).toMatchObject({ __typename: 'CreateSessionPayload', duplicate: true, session: { id: first.session?.id } })
    const other = await run('createSession', { session: { agent: 'support', title: 'x' }, idempotencyKey: 'once' })
    expect(other).toMatchObject({ __typename: 'IdempotencyMismatchError', code: 'IDEMPOTENCY_MISMATCH' })
  })

  it('names the agent that was most likely meant, and all there are', async () => {
    expect(await run('createSession', { session: { agent: 'suport' } })).toMatchObject({
      __typename: 'NotFoundError',
      message: 'No agent "suport". Did you mean "support"? Agents here: hello, support.',
      id: null,
    })
  })

  it('tells who holds a taken address, to those who may see it', async () => {
    const holder = await create({ addresses: ['slack:taken'] })
    const wanted = { session: { agent: 'support', addresses: ['slack:taken'] } }
    expect(await run('createSession', wanted)).toMatchObject({ __typename: 'AddressTakenError', address: 'slack:taken', holder })
    expect(await run('createSession', wanted, 'eve')).toMatchObject({ __typename: 'AddressTakenError', holder: null })
  })

  it('tells all that is wrong with the input, each with its place', async () => {
    const session = { agent: 'support', addresses: ['slack:ok', 'no address'], history: [{ role: 'USER', text: ' ' }] }
    expect(await run('createSession', { session, idempotencyKey: '' })).toMatchObject({
      __typename: 'InvalidInputError',
      issues: [
        { path: ['session', 'addresses', '1'], message: 'is no address; they are channel:value, e.g. slack:C042' },
        { path: ['session', 'history', '0', 'text'], message: 'is empty; say something' },
        { path: ['idempotencyKey'], message: 'is empty; leave it out instead' },
      ],
    })
  })

  it.each([
    ['title', { session: { agent: 'support', title: 'x'.repeat(201) } }, 'session.title: 200'],
    ['metadata', { session: { agent: 'support', metadata: { x: 'x'.repeat(20_000) } } }, 'session.metadata: 16384'],
    ['addresses', { session: { agent: 'support', addresses: Array.from({ length: 257 }, (_, n) => `x:${n}`) } }, 'session.addresses: 256'],
    ['key', { session: { agent: 'support' }, idempotencyKey: 'x'.repeat(256) }, 'idempotencyKey: 255'],
  ])('names the limit of what is too big: %s', async (_, input, limit) => {
    expect(await run('createSession', input)).toMatchObject({
      __typename: 'LimitExceededError',
      code: 'LIMIT_EXCEEDED',
      limit,
      retryAfterMs: null,
    })
  })
})

describe('send', () => {
  it('to an address creates the session once, and then delivers to it', async () => {
    const to = { address: { address: 'slack:send', create: { agent: 'support' } } }
    const first = await run('send', { to, ...text('one') })
    expect(first).toMatchObject({
      __typename: 'SendPayload',
      created: true,
      duplicate: false,
      session: { status: 'RUNNING' },
      delivery: { kind: 'MESSAGE', status: 'ACCEPTED', position: 1, policy: 'STEER', text: 'one', by: { id: 'ann' } },
    })
    const second = await run('send', { to, ...text('two'), turnPolicy: 'QUEUE' })
    expect(second).toMatchObject({ created: false, session: { id: first.session?.id }, delivery: { position: 2, policy: 'QUEUE' } })
  })

  it('of many at once to a free address makes one session, which gets all of them', async () => {
    const to = { address: { address: 'slack:race', create: { agent: 'support' } } }
    const sent = await Promise.all(Array.from({ length: 8 }, (_, n) => run('send', { to, ...text(`${n}`) })))
    expect(new Set(sent.map(({ session }) => session?.id)).size).toBe(1)
    expect(sent.filter(({ created }) => created === true)).toHaveLength(1)
  })

  it('repeated with its key gives the first delivery, also when the session has ended since', async () => {
    const input = { to: { create: { agent: 'hello' } }, ...text('hi'), idempotencyKey: 'send-once' }
    const first = await run('send', input)
    const sessionId = first.session?.id
    if (sessionId === undefined) throw new Error('nothing was sent')
    await api.world.untilRest(sessionId)
    await run('end', { session: { id: sessionId } })
    await api.world.until(sessionId, (log) => log.at(-1)?.type === 'SESSION_COMPLETED')
    expect(await run('send', input)).toMatchObject({ duplicate: true, created: false, session: { id: sessionId, status: 'COMPLETED' } })
    expect(await run('send', { ...input, ...text('other') })).toMatchObject({ __typename: 'IdempotencyMismatchError' })
  })

  it('reaches every other member of its result', async () => {
    expect(await run('send', { to: { session: UNKNOWN }, ...text('hi') })).toMatchObject({ __typename: 'NotFoundError', id: UNKNOWN })
    expect(await run('send', { to: { address: { address: 'slack:free' } }, ...text('hi') })).toMatchObject({
      __typename: 'NotFoundError',
      id: null,
    })
    expect(await run('send', { to: { create: { agent: 'support' } }, ...text('hi') }, READER)).toMatchObject({
      __typename: 'ForbiddenError',
    })
    expect(await run('send', { to: { session: 'ses_x' }, ...text('') })).toMatchObject({
      __typename: 'InvalidInputError',
      issues: [{ path: ['to', 'session'] }, { path: ['message', 'text'] }],
    })
    expect(await run('send', { to: { session: UNKNOWN }, ...text('x'.repeat(300_000)) })).toMatchObject({
      __typename: 'LimitExceededError',
    })
    const ended = await createEnded()
    expect(await run('send', { to: { session: ended }, ...text('hi') })).toMatchObject({
      __typename: 'SessionEndedError',
      message: `Session ${ended} has ended; create a new one, or send to its address with \`create\`.`,
      session: { id: ended, status: 'COMPLETED' },
    })
    const holder = await create({ addresses: ['slack:held'] })
    const taken = { to: { create: { agent: 'support', addresses: ['slack:held'] } }, ...text('hi') }
    expect(await run('send', taken)).toMatchObject({ __typename: 'AddressTakenError', holder })
  })
})

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
