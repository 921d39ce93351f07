import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApi, type Api } from './api.js'
import { createMutator, type Mutator } from './mutate.js'
import { CLERK, insertRequest, tell } from './people.js'

let api: Api
let mutator: Mutator
beforeAll(async () => {
  api = await startApi({ agents: [CLERK] })
  mutator = createMutator(api)
})
afterAll(() => api.close())

/** One key, many people. */
const RELAY = 'relay;sessions:read,sessions:write,sessions:act-as,role:manager'
const TO_CLERK = { create: { agent: 'clerk' } }

describe('an actor', () => {
  it('is whose words they are; the session and the key are of the caller', async () => {
    const input = { to: TO_CLERK, message: { text: 'wire' }, actor: { id: 'U042', name: 'Ann' }, idempotencyKey: 'relayed' }
    const sent = await mutator.run('send', input, RELAY)
    expect(sent).toMatchObject({ __typename: 'SendPayload', duplicate: false, delivery: { by: { id: 'U042' } } })
    expect(await mutator.run('send', input, RELAY)).toMatchObject({ duplicate: true, session: { id: sent.session?.id } })
    expect(await mutator.run('send', { ...input, actor: { id: 'U043' } }, RELAY)).toMatchObject({ __typename: 'IdempotencyMismatchError' })
    const id = sent.session?.id
    if (id === undefined) throw new Error('nothing was sent')
    await api.world.until(id, (log) => log.some(({ type }) => type === 'TURN_WAITING'))
    const query = `query ($id: ID!) { session(id: $id) { owner { id } currentTurn { servedPrincipal { id kind name } } requests { nodes { id } } } }`
    const { data } = await api.as<{ session: { requests: { nodes: readonly { id: string }[] } } }>(RELAY, query, { id })
    expect(data.session).toMatchObject({
      owner: { id: 'relay' },
      currentTurn: { servedPrincipal: { id: 'U042', kind: 'USER', name: 'Ann' } },
    })

    const answers = data.session.requests.nodes.map((request) => ({ requestId: request.id, value: { decision: 'APPROVE' } }))
    const answer = (more: object) => mutator.run('respond', { session: { id }, answers, ...more }, RELAY)
    const refused = { __typename: 'ForbiddenError', message: expect.stringContaining('answered by Ann, whom the turn serves') as string }
    expect(await answer({})).toMatchObject(refused)
    expect(await answer({ actor: { id: 'U043' } })).toMatchObject(refused)
    expect(await answer({ actor: { id: 'U042', kind: 'SERVICE' } })).toMatchObject(refused)
    expect(await answer({ actor: { id: 'U042' } })).toMatchObject({ __typename: 'DeliveryPayload', delivery: { by: { id: 'U042' } } })
    await api.world.untilRest(id)
  })

  it('has none of the roles and scopes of the caller', async () => {
    const { sessionId, requests } = await tell(api, 'refund 1')
    const answers = [{ requestId: requests[0], value: { decision: 'APPROVE' } }]
    const input = { session: { id: sessionId }, answers, actor: { id: 'U042' } }
    expect(await mutator.run('respond', input, 'relay;admin,role:manager')).toMatchObject({ __typename: 'ForbiddenError' })
    const text = { to: { session: sessionId }, message: { text: 'approve' }, turnPolicy: 'QUEUE', actor: { id: 'U042' } }
    const sent = await mutator.run('send', text, 'relay;admin,role:manager')
    expect(await contentOf(sent['delivery'])).not.toHaveProperty('authority')
    expect(await mutator.run('respond', { session: { id: sessionId }, answers }, RELAY)).toMatchObject({ __typename: 'DeliveryPayload' })
  })

  it('who is named as a reviewer answers through a caller that sees nothing of the session', async () => {
    const id = await mutator.create()
    const requestId = await insertRequest(api, id, { reviewers: ['principal:U042'] })
    const answers = [{ requestId, value: { decision: 'DENY' } }]
    const relay = 'other;requests:answer,sessions:act-as'
    expect(await mutator.run('respond', { session: { id }, answers, actor: { id: 'U043' } }, relay)).toMatchObject({
      __typename: 'NotFoundError',
    })
    expect(await mutator.run('respond', { session: { id }, answers, actor: { id: 'U042' } }, relay)).toMatchObject({
      __typename: 'DeliveryPayload',
      delivery: { by: { id: 'U042' } },
    })
  })

  it('takes a scope, and has to be somebody', async () => {
    const id = await mutator.create()
    const requestId = await insertRequest(api, id)
    for (const [name, input] of [
      ['send', { to: { session: id }, message: { text: 'hello' } }],
      ['respond', { session: { id }, answers: [{ requestId, value: { decision: 'DENY' } }] }],
    ] as const) {
      expect(await mutator.run(name, { ...input, actor: { id: 'U042' } })).toMatchObject({
        __typename: 'ForbiddenError',
        message: 'This takes the scope sessions:act-as, which your credentials do not have.',
      })
      const as = (actor: object) => mutator.run(name, { ...input, actor }, RELAY)
      expect(await as({ id: 'U042', kind: 'SYSTEM' })).toMatchObject({
        __typename: 'InvalidInputError',
        issues: [{ path: ['actor', 'kind'] }],
      })
      expect(await as({ id: '' })).toMatchObject({ __typename: 'InvalidInputError', issues: [{ path: ['actor', 'id'] }] })
      expect(await as({ id: 'x'.repeat(256) })).toMatchObject({ __typename: 'LimitExceededError' })
    }
  })
})

describe('what is said in words', () => {
  it('answers with the roles and scopes of who says it', async () => {
    const { sessionId, requests } = await tell(api, 'refund 2')
    const said = (caller: string) => mutator.run('send', { to: { session: sessionId }, message: { text: 'approve' } }, caller)
    await said('eve;sessions:read-all,sessions:write')
    const sent = await said('max;sessions:read-all,sessions:write,role:manager')
    expect(await contentOf(sent['delivery'])).toMatchObject({
      authority: ['role:manager', 'scope:sessions:read-all', 'scope:sessions:write'],
    })
    await api.world.until(sessionId, (log) => log.some(({ type }) => type === 'TOOL_CALL_END'))
    const query = `query ($id: ID!) { node(id: $id) { ... on InputRequest { answer { decision by { id } } } } }`
    expect((await api.as('ann', query, { id: requests[0] })).data).toEqual({ node: { answer: { decision: 'APPROVE', by: { id: 'max' } } } })
  })

  it('an admin has every scope', async () => {
    const id = await mutator.create()
    const sent = await mutator.run('send', { to: { session: id }, message: { text: 'hello' } }, 'root;admin')
    expect(await contentOf(sent['delivery'])).toMatchObject({
      authority: expect.arrayContaining(['scope:requests:answer', 'scope:admin']) as string[],
    })
  })
})

async function contentOf(delivery: unknown): Promise<unknown> {
  const { id } = delivery as { readonly id: string }
  return (await api.prisma.delivery.findUniqueOrThrow({ where: { id } })).content
}

it('a key finds its message again when its sender has other roles by then; metadata of that name still tells two apart', async () => {
  const input = { to: TO_CLERK, message: { text: 'wire' }, idempotencyKey: 'promoted' }
  expect(await mutator.run('send', input, 'zoe;sessions:write,sessions:read')).toMatchObject({ duplicate: false })
  expect(await mutator.run('send', input, 'zoe;sessions:write,sessions:read,role:manager')).toMatchObject({ duplicate: true })
  const created = (authority: string) => ({ session: { agent: 'clerk', metadata: { authority } }, idempotencyKey: 'with metadata' })
  expect(await mutator.run('createSession', created('one'), 'zoe;sessions:write')).toMatchObject({ duplicate: false })
  expect(await mutator.run('createSession', created('two'), 'zoe;sessions:write')).toMatchObject({ __typename: 'IdempotencyMismatchError' })
})
