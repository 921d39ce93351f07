/** Sessions that ask people, on the real server: what the fake of these tests takes for granted. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { askUser, defineAgent, defineTool, scripted } from '../../server/index.js'
import { createClient, ForbiddenError, RequestNotPendingError, type Client, type InputRequest, type TurnResult } from '../../sdk/index.js'
import { startApi, type Api } from '../graphql/api.js'
import { startFaultyProxy } from '../support/faulty-proxy.js'
import { collect } from './sdk-suite.js'

const paid: number[] = []
const refund = defineTool({
  description: 'Pays back.',
  input: z.object({ amount: z.number() }),
  execute({ amount }) {
    paid.push(amount)
    return { amount }
  },
})
const wire = defineTool({ description: 'Wires money.', input: z.object({}), approval: 'always', execute: () => 'wired' })
const overHundred = ({ input }: { readonly input: unknown }): boolean => z.object({ amount: z.number() }).parse(input).amount > 100
/** Calls what it is told to, e.g. `refund 240+wire`; then says what came of it. */
const clerk = defineAgent({
  name: 'clerk',
  instructions: 'You work at the desk.',
  tools: { refund, wire, ask_user: askUser() },
  approvals: [{ tool: 'refund', when: overHundred, prompt: 'A large refund', reviewers: ['role:manager'] }],
  model: scripted(({ lastUserText, step, toolResults }) => {
    if (step > 0) return `Read: ${toolResults.map(({ text }) => text).join(' ')}`
    return { text: 'One moment.', calls: lastUserText.split('+').map(toCall) }
  }),
})
const frugal = defineAgent({
  name: 'frugal',
  instructions: 'Be brief.',
  limits: { maxOutputTokensPerSession: 3 },
  tools: { refund },
  model: scripted(({ step }) => (step === 0 ? { text: 'One two three four', calls: [{ name: 'refund', input: { amount: 1 } }] } : 'Done.')),
})

function toCall(words: string) {
  const [name = '', ...rest] = words.trim().split(' ')
  if (name === 'refund') return { name, input: { amount: Number(rest[0]) } }
  if (name !== 'ask') return { name }
  const options = rest.length > 0 && { options: rest.map((label) => ({ label })), allow_text: true }
  return { name: 'ask_user', input: { question: 'Which colour?', ...options } }
}

let api: Api
const as = (caller: string): Client => createClient({ url: api.url, headers: { 'x-caller': caller } })
const manager = 'mia;requests:answer,role:manager'
beforeAll(async () => {
  api = await startApi({ agents: [clerk, frugal] })
})
afterAll(() => api.close())
afterEach(() => {
  paid.splice(0)
})

function requestsOf(result: TurnResult): readonly InputRequest[] {
  if (result.status !== 'waiting') throw new Error(`the turn does not wait, but is ${result.status}`)
  return result.requests
}

async function first(requests: AsyncIterable<InputRequest>): Promise<InputRequest> {
  for await (const request of requests) return request
  throw new Error('there was none')
}

describe('an approval', () => {
  it('is given by a reviewer who cannot see the session; what was approved runs once', async () => {
    const turn = as('ann').agent('clerk').send('refund 240')
    const result = await turn.result()
    expect(result).toMatchObject({ status: 'waiting', number: 1, text: 'One moment.' })
    const [asked] = requestsOf(result)
    expect(asked).toMatchObject({
      ...{ kind: 'APPROVAL', status: 'PENDING', prompt: 'A large refund', reviewers: ['role:manager'], agentName: 'clerk' },
      ...{ toolCall: { name: 'refund', input: { amount: 240 } }, acceptedAnswer: null, expiresAt: null },
    })
    await expect(asked?.approve()).rejects.toThrow(ForbiddenError)

    const queue = as(manager).inputRequests()
    const request = await first(queue)
    expect(request).toMatchObject({ id: asked?.id, toolCall: { input: { amount: 240 } } })
    expect(await as(manager).session(request.sessionId).get()).toBeNull()
    const [one, two] = await Promise.all([request.approve('as agreed'), request.approve('as agreed')])
    expect(one.delivery.id).toBe(two.delivery.id)
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'Read: {"amount":240}' })
    expect(paid).toEqual([240])
    const late = await request.deny('too late').catch((thrown: unknown) => thrown)
    expect(late).toBeInstanceOf(RequestNotPendingError)
    expect(late).toMatchObject({
      requests: [{ status: 'ANSWERED', acceptedAnswer: { decision: 'APPROVE', reason: 'as agreed', by: { id: 'mia' } } }],
    })
    expect((await queue.list()).nodes).toEqual([])
  })

  it('that is denied leaves the rest of the turn waiting, and the result says for what', async () => {
    const turn = as('ann').agent('clerk').send('wire+wire+refund 7')
    const [one, two] = requestsOf(await turn.result())
    expect(paid).toEqual([7])
    await one?.deny('not today')
    expect(requestsOf(await turn.result()).map(({ id }) => id)).toEqual([two?.id])
    const { session } = await turn.accepted
    for await (const { turns, messages } of session.messages()) {
      const statuses = messages.flatMap((each) =>
        each.role === 'user' ? [] : each.parts.flatMap((part) => (part.type === 'tool' ? [part.status] : [])),
      )
      if (statuses[0] !== 'denied') continue
      expect(statuses).toEqual(['denied', 'waiting-for-approval', 'completed'])
      expect(turns).toMatchObject([{ status: 'waiting', waitingOn: 'APPROVAL' }])
      break
    }
    await session.respond([{ requestId: two?.id ?? '', decision: 'DENY' }])
    expect(await turn.result()).toMatchObject({ status: 'completed', text: expect.stringContaining('not today') as string })
  })
})

describe('a question', () => {
  it('is answered by its option, and by a message, which is told of the same turn', async () => {
    const turn = as('ann').agent('clerk').send('ask Blue Green+ask')
    const { session } = await turn.accepted
    const [colour] = requestsOf(await turn.result())
    expect(colour?.options.map(({ label }) => label)).toEqual(['Blue', 'Green'])
    await colour?.answer('green')
    const [rest] = requestsOf(await turn.result())
    expect(rest).toMatchObject({ kind: 'QUESTION', allowsText: true, options: [] })
    const reply = session.send('as you like')
    await reply.accepted
    const [own, result] = await Promise.all([turn.result(), reply.result()])
    expect(result).toMatchObject({ status: 'completed', number: 1, text: 'Read: {"selected":["Green"]} {"text":"as you like"}' })
    expect(own).toEqual(result)
    expect((await session.requests({ status: ['ANSWERED'] })).nodes).toMatchObject([
      { acceptedAnswer: { optionIds: ['option-2'] } },
      { acceptedAnswer: { text: 'as you like', by: { id: 'ann' } } },
    ])
  })

  it('is open still for whoever answers another one of the turn in words', async () => {
    const turn = as('ann').agent('clerk').send('ask+wire')
    const { session } = await turn.accepted
    await turn.result()
    const reply = session.send('something')
    const [wired] = requestsOf(await reply.result())
    expect(wired).toMatchObject({ kind: 'APPROVAL' })
    await session.send('never mind').result()
    expect(await reply.result()).toMatchObject({ status: 'completed', number: 1 })
    expect((await session.requests({ status: 'CANCELLED' })).nodes.map(({ id }) => id)).toEqual([wired?.id])
  })
})

it('a turn over its budget waits, and goes on', async () => {
  const turn = as('ann').agent('frugal').send('count')
  const [limit] = requestsOf(await turn.result())
  expect(limit).toMatchObject({ kind: 'LIMIT', toolCall: null, toolCallId: null })
  await limit?.answer('Continue')
  expect(await turn.result()).toMatchObject({ status: 'completed', text: 'Done.' })
})

it('whoever waits through its waits is told the end only', async () => {
  const turn = as('ann').agent('clerk').send('wire')
  const end = turn.result({ throughWaits: true })
  for (const request of requestsOf(await turn.result())) await request.approve()
  expect(await end).toMatchObject({ status: 'completed' })
  expect((await collect(turn)).map(({ type }) => type)).toEqual(
    expect.arrayContaining(['TURN_WAITING', 'APPROVAL_RESOLVED', 'TURN_RESUMED']),
  )
})

it('the queue tells live what opens and what somebody answers', async () => {
  const queue = as('eve').inputRequests({ kind: 'APPROVAL', agent: 'clerk' })[Symbol.asyncIterator]()
  const next = queue.next()
  const turn = as('eve').agent('clerk').send('ask+wire')
  const opened = (await next).value
  expect(opened).toMatchObject({ kind: 'APPROVAL', status: 'PENDING' })
  for (const request of requestsOf(await turn.result())) await (request.kind === 'APPROVAL' ? request.approve() : request.answer('x'))
  expect((await queue.next()).value).toMatchObject({ id: opened?.id, status: 'ANSWERED', acceptedAnswer: { by: { id: 'eve' } } })
  await queue.return?.()
})

it('the queue tells a reviewer after an outage what was withdrawn meanwhile', async () => {
  const proxy = await startFaultyProxy(api.url)
  const turn = as('ann').agent('clerk').send('refund 500')
  const [asked] = requestsOf(await turn.result())
  const reviewer = createClient({ url: proxy.url, headers: { 'x-caller': manager } })
  const queue = reviewer.inputRequests()[Symbol.asyncIterator]()
  expect((await queue.next()).value).toMatchObject({ id: asked?.id, status: 'PENDING' })
  const next = queue.next()
  const { session } = await turn.accepted
  proxy.add({
    kind: 'delay',
    until: session
      .cancel()
      .then(() => turn.result())
      .then(() => undefined),
  })
  await proxy.resetAll()
  expect((await next).value).toMatchObject({ id: asked?.id, status: 'CANCELLED', acceptedAnswer: null })
  expect(await turn.result()).toMatchObject({ status: 'cancelled' })
  await queue.return?.()
  await proxy.close()
})

it('a relay says whose words it hands over', async () => {
  const relay = as('relay;sessions:read,sessions:write,sessions:act-as')
  const actor = { id: 'U042', name: 'Ann' }
  const turn = relay.agent('clerk').send('ask', { actor })
  const [request] = requestsOf(await turn.result())
  await expect(request?.answer('blue')).rejects.toThrow(ForbiddenError)
  await request?.answer('blue', { actor, reason: 'she likes it' })
  await turn.result()
  const events = await collect(turn)
  expect(events.filter(({ type }) => type === 'MESSAGE_RECEIVED')).toMatchObject([{ by: actor }])
  expect(events.filter(({ type }) => type === 'INPUT_RESOLVED')).toMatchObject([{ by: actor, reason: 'she likes it' }])
  await expect(as('ann').agent('clerk').send('ask', { actor }).accepted).rejects.toThrow(ForbiddenError)
})
