import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { SessionEventsDocument } from '../../sdk/generated/documents.js'
import { REAUTHENTICATE_MS } from '../../server/graphql/limits.js'
import type { SessionId } from '../../server/ids.js'
import { createFakeClock } from '../support/fake-clock.js'
import { authenticateByHeader, converse, startApi, type Api } from './api.js'

const DOCUMENT = String(SessionEventsDocument)
const clock = createFakeClock()
const refused = new Set<string>()
let asked: Request[] = []
let api: Api
let id: SessionId
let rounds = 0

beforeAll(async () => {
  api = await startApi({
    clock,
    authenticate: (request) => {
      asked.push(request)
      const caller = authenticateByHeader(request)
      return caller !== null && refused.has(caller.id) ? null : caller
    },
  })
})
afterAll(() => api.close())
beforeEach(async () => {
  refused.clear()
  id = await converse(api, 'ann', ['one'], `test:fan-out-${(rounds += 1)}`)
})

interface Reader {
  /** The events, as they came, until one contains this; a stream that ends before fails. */
  until(text: string): Promise<string>
  /** All that is left. */
  rest(): Promise<string>
  leave(): Promise<void>
}

/** Subscribes as `caller`, after what is there. */
async function subscribe(
  caller: string,
  { query = DOCUMENT, variables = {} }: { query?: string; variables?: object } = {},
): Promise<Reader> {
  const aborter = new AbortController()
  const response = await fetch(api.url, {
    method: 'POST',
    signal: aborter.signal,
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', 'x-caller': caller },
    body: JSON.stringify({ query, variables: { session: { id }, follow: true, ...variables } }),
  })
  const pieces = response.body?.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]()
  let text = ''
  async function read(isEnough: () => boolean): Promise<string> {
    while (!isEnough()) {
      const piece = await pieces?.next()
      if (piece?.done !== false) break
      text += piece.value
    }
    const taken = text
    text = ''
    return taken.replaceAll(/^:\n\n/gm, '')
  }
  const reader: Reader = {
    async until(wanted) {
      const taken = await read(() => text.includes(wanted) && text.endsWith('\n\n'))
      if (!taken.includes(wanted)) throw new Error(`it ended before ${wanted}: ${taken}`)
      return taken
    },
    rest: () => read(() => false),
    async leave() {
      aborter.abort()
      await pieces?.return?.(undefined).catch(() => undefined)
    },
  }
  await reader.until('"caughtUp":true')
  return reader
}

const say = (text: string) => converse(api, 'ann', [text], `test:fan-out-${rounds}`)
const ALL = 'ann;sessions:read-all'

describe('subscribers of one session', () => {
  it('are sent the same bytes, whoever they are, when they sent the same document', async () => {
    const readers = [await subscribe('ann'), await subscribe('bob;sessions:read-all'), await subscribe(ALL, { variables: { last: 3 } })]
    await say('two')
    const [one, ...others] = await Promise.all(readers.map((reader) => reader.until('SESSION_WAITING')))
    expect(one).toContain('Hello, two!')
    for (const other of others) expect(other).toBe(one)
    for (const reader of readers) await reader.leave()
    await api.readers.until(0)
  })

  it('get what their own document and types ask for', async () => {
    const cursors =
      'subscription ($session: SessionRef!, $follow: Boolean!) { sessionEvents(session: $session, follow: $follow) { ... on SessionEventsBatch { caughtUp cursor events { type } } } }'
    const [whole, short, some] = [
      await subscribe('ann'),
      await subscribe('ann', { query: cursors }),
      await subscribe('ann', { variables: { types: ['TURN_STARTED', 'SESSION_WAITING'] } }),
    ]
    await say('two')
    expect(await whole.until('SESSION_WAITING')).toContain('"text":"Hello, two!"')
    expect(await short.until('SESSION_WAITING')).not.toContain('Hello')
    const types = [...(await some.until('SESSION_WAITING')).matchAll(/"type":"(\w+)"/g)].map(([, type]) => type)
    expect(new Set(types)).toEqual(new Set(['TURN_STARTED', 'SESSION_WAITING']))
    for (const reader of [whole, short, some]) await reader.leave()
    await api.readers.until(0)
  })

  it('stop each by himself: whose access ends gets nothing more, the others go on', async () => {
    const [ann, bob] = [await subscribe('ann'), await subscribe('bob;sessions:read-all')]
    refused.add('bob')
    await clock.advance(REAUTHENTICATE_MS)
    await say('two')
    expect(await bob.rest()).toMatch(/^event: next\ndata: \{"errors":\[.*"UNAUTHENTICATED".*\}\n\nevent: complete\ndata:\n\n$/)
    expect(await ann.until('SESSION_WAITING')).toContain('Hello, two!')
    await ann.leave()
    await api.readers.until(0)
  })
})

describe('what a subscription keeps', () => {
  it('is asked again with its headers and address, without its body', async () => {
    const reader = await subscribe('ann')
    asked = []
    await clock.advance(REAUTHENTICATE_MS)
    const [again] = asked
    expect([again?.headers.get('x-caller'), again?.url, again?.method, again?.body]).toEqual(['ann', api.url, 'POST', null])
    await reader.leave()
    await api.readers.until(0)
  })
})
