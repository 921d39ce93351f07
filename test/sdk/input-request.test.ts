/** Requests as things to answer. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Client } from '../../sdk/client.js'
import { NotFoundError, RequestNotPendingError } from '../../sdk/errors.js'
import type { InputRequest, Reply } from '../../sdk/input-request.js'
import { startFaultyProxy, type FaultyProxy } from '../support/faulty-proxy.js'
import type { FakeSession } from './fake-log.js'
import { startFakeServer, type FakeServer } from './fake-server.js'
import { fastClient } from './fast-client.js'

let server: FakeServer
let proxy: FaultyProxy
let client: Client
let session: FakeSession
beforeEach(async () => {
  server = await startFakeServer()
  proxy = await startFaultyProxy(server.url)
  client = fastClient(server.url)
  session = server.log.find((await client.sessions.create({ agent: 'quiet' })).id)
})
afterEach(async () => {
  await proxy.close()
  await server.close()
})

type Asked = NonNullable<Parameters<FakeServer['requests']['ask']>[2]>
const ask = (asked: Asked = {}) => server.requests.ask(session, 'turn_1', asked)

/** As the queue has it. */
async function readNewest(): Promise<InputRequest> {
  const [request] = (await client.inputRequests().list({ first: 1 })).nodes
  if (request === undefined) throw new Error('nothing is open')
  return request
}

describe('a request', () => {
  it('is approved once, however often it is said; another answer is told the first', async () => {
    const stored = ask()
    const request = await readNewest()
    const [first, again] = [await request.approve('fine'), await request.approve('fine')]
    expect([first.duplicate, again.duplicate]).toEqual([false, true])
    expect(again.delivery.id).toBe(first.delivery.id)
    expect(stored.answer).toMatchObject({ decision: 'APPROVE', reason: 'fine' })
    const error = await request.deny().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(RequestNotPendingError)
    expect(error).toMatchObject({
      requests: [{ id: 'req_1', status: 'ANSWERED', acceptedAnswer: { decision: 'APPROVE', by: { id: 'ann' } } }],
    })
  })

  it('is answered once when the reply is lost, after whichever byte (T1)', async () => {
    for (let afterBytes = 0; afterBytes < 500; afterBytes += 50) {
      ask()
      const { id } = await readNewest()
      await proxy.resetAll()
      const away = await fastClient(proxy.url).inputRequests().list({ first: 1 })
      proxy.add({ kind: 'cut', afterBytes })
      await away.nodes.find((request) => request.id === id)?.deny()
      expect(server.requests.all.at(-1)?.answer).toMatchObject({ decision: 'DENY' })
    }
  })

  const options = [
    { id: 'option-1', label: 'Blue', description: null },
    { id: 'option-2', label: 'Dark green', description: null },
  ]
  const question = { kind: 'QUESTION', options, maxSelections: 2, allowsText: true } as const
  it.each<[string, Asked, Reply, object]>([
    ['the label of an option', question, ' dark GREEN ', { optionIds: ['option-2'] }],
    ['the id of an option', question, 'option-1', { optionIds: ['option-1'] }],
    ['several options', question, ['blue', 'option-2'], { optionIds: ['option-1', 'option-2'] }],
    ['an option that is none, for the server to refuse', question, ['red'], { optionIds: ['red'] }],
    ['words', question, 'something warm', { text: 'something warm' }],
    ['no words', question, '', { text: '' }],
    ['JSON', question, { json: false }, { json: false }],
    [
      'an option of a limit',
      { kind: 'LIMIT', options: [{ id: 'stop', label: 'Stop', description: null }] },
      'Stop',
      { optionIds: ['stop'] },
    ],
    ['a decision', { kind: 'APPROVAL' }, 'approve', { decision: 'APPROVE' }],
    ['a decision, in a list', { kind: 'APPROVAL' }, ['Deny'], { decision: 'DENY' }],
    ['both decisions, for the server to refuse', { kind: 'APPROVAL' }, ['approve', 'deny'], { optionIds: ['approve', 'deny'] }],
  ])('takes %s', async (_, asked, reply, value) => {
    const stored = ask(asked)
    await (await readNewest()).answer(reply)
    const nothing = { decision: null, optionIds: [], text: null, json: null }
    expect(stored.answer).toMatchObject({ ...nothing, ...value })
  })

  it('is one of several that a session takes at once, all of them or none', async () => {
    const [first, second] = [ask(), ask({ kind: 'QUESTION', allowsText: true })]
    const answers = [
      { requestId: first.id, decision: 'APPROVE', reason: 'small' },
      { requestId: second.id, text: 'on Monday' },
    ] as const
    await expect(client.session(session.id).respond([...answers, { requestId: 'req_none', text: 'x' }])).rejects.toThrow(NotFoundError)
    expect([first.answer, second.answer]).toEqual([null, null])
    expect(await client.session(session.id).respond(answers, { idempotencyKey: 'mine' })).toMatchObject({ duplicate: false })
    expect(await client.session(session.id).respond(answers, { idempotencyKey: 'mine' })).toMatchObject({ duplicate: true })
    expect(first.answer).toMatchObject({ decision: 'APPROVE', reason: 'small' })
    expect(second.answer).toMatchObject({ text: 'on Monday', reason: null })
    const { nodes } = await client.session(session.id).requests()
    expect(nodes).toEqual([])
    expect((await client.session(session.id).requests({ status: 'ANSWERED' })).nodes.map(({ id }) => id)).toEqual([first.id, second.id])
  })
})
