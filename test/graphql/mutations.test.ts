import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SendDocument } from '../../sdk/generated/documents.js'
import { createIdSource } from '../../server/ids.js'
import { startApi, type Api } from './api.js'
import { ANN, createMutator, READER, type Mutator, type Outcome } from './mutate.js'

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

  it('to a session reads once beside its delivery: whether it may', async () => {
    const session = await create()
    api.takeStatements()
    const { data } = await api.as<{ send: Outcome }>(ANN, String(SendDocument), { input: { to: { session }, ...text('one') } })
    expect(data.send.__typename).toBe('SendPayload')
    expect(api.takeStatements()).toEqual([expect.stringContaining('"session"')])
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
      issues: [
        { path: ['to', 'session'], message: 'is no id of a session, which is ses_ and 26 letters and digits' },
        { path: ['message', 'text'] },
      ],
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
