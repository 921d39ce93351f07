/** What an event stream makes of a server that stops, or whose database is away, in the middle of it. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, it } from 'vitest'
import type { PerdureError } from '../../sdk/errors.js'
import type { EventStreamOptions } from '../../sdk/event-stream.js'
import { fastClient } from './fast-client.js'

const ID = 'ses_01m8md3ehbe969tyybwza61spj'
const AT = '2026-01-01T00:00:00Z'

/** A batch of the event at this position. */
const batch = (cursor: string, caughtUp: boolean) => ({
  data: { sessionEvents: { __typename: 'SessionEventsBatch', events: [toEvent(cursor)], cursor, caughtUp } },
})
const failure = (code: string) => ({ errors: [{ message: 'Not just now.', extensions: { code } }] })

let server: Server | null = null
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

/**
 * Plays one connection after the other, the last one for ever: each says its results, then `complete`. The session has ended at
 * `endedAtCursor`. Reads it to its end.
 */
async function readThrough(connections: readonly (readonly object[])[], { endedAtCursor = '2', ...options }: Reading = {}) {
  let asked = 0
  const opened = createServer((request, response) => {
    void text(request).then((body) => {
      if (!body.includes('subscription')) {
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify({ data: { session: { cursor: endedAtCursor, endedAt: AT } } }))
        return
      }
      const results = connections[asked] ?? connections.at(-1) ?? []
      asked += 1
      response.setHeader('content-type', 'text/event-stream')
      response.end(`${results.map((result) => `event: next\ndata: ${JSON.stringify(result)}\n\n`).join('')}event: complete\ndata:\n\n`)
    })
  })
  server = opened
  await new Promise<void>((resolve) => opened.listen(0, '127.0.0.1', resolve))
  const client = fastClient(`http://127.0.0.1:${(opened.address() as AddressInfo).port}/graphql`)
  const cursors: string[] = []
  let thrown: unknown = null
  try {
    for await (const { cursor } of client.session(ID).batches(options)) cursors.push(cursor)
  } catch (error) {
    thrown = error
  }
  return { cursors, asked, thrown: thrown as PerdureError | null }
}

type Reading = EventStreamOptions & { readonly endedAtCursor?: string }

describe.each([false, true])('a replay that a stopping server cuts short is not taken for the whole log (follow: %s)', (follow) => {
  it.each([
    ['completes the stream after a batch', [batch('1', false)]],
    ['completes the stream before the first batch', []],
    ['ends the stream with UNAVAILABLE', [batch('1', false), failure('UNAVAILABLE')]],
  ])('that %s', async (_, first) => {
    const rest = first.length === 0 ? [batch('1', false), batch('2', true)] : [batch('2', true)]
    expect(await readThrough([first, rest], { follow })).toEqual({ cursors: ['1', '2'], asked: 2, thrown: null })
  })
})

describe('a followed session', () => {
  it('that has ended is not at its end before the cursor of the session, although it had caught up', async () => {
    const read = await readThrough([[batch('1', true)], [batch('2', true)]], { types: ['TURN_STARTED'] })
    expect(read).toEqual({ cursors: ['1', '2'], asked: 2, thrown: null })
  })

  it('that had ended at the cursor which was asked for is at its end', async () => {
    expect(await readThrough([[]], { after: '2' })).toEqual({ cursors: [], asked: 1, thrown: null })
  })
})

describe('an outage of the database', () => {
  const down = (code: string, times: number) => Array.from({ length: times }, () => [failure(code)])

  it('is outlasted, however long it is', async () => {
    const read = await readThrough([...down('UNAVAILABLE', 40), [batch('2', true)]], { follow: false })
    expect(read).toEqual({ cursors: ['2'], asked: 41, thrown: null })
  })

  it('does not use up the patience with faults of the server', async () => {
    const connections = [...down('UNAVAILABLE', 10), ...down('INTERNAL_SERVER_ERROR', 4), [batch('2', true)]]
    expect(await readThrough(connections, { follow: false })).toEqual({ cursors: ['2'], asked: 15, thrown: null })
  })

  it('ends the stream with UNAVAILABLE and the cursor when the connections that it may make are used up', async () => {
    const { asked, thrown } = await readThrough([[batch('1', false)], ...down('UNAVAILABLE', 1)], { maxReconnects: 3 })
    expect(thrown).toMatchObject({ code: 'UNAVAILABLE', lastCursor: '1' })
    expect(asked).toBe(4)
  })
})

describe('a fault inside the server', () => {
  it('ends the stream after five in a row', async () => {
    const { asked, thrown } = await readThrough([[failure('INTERNAL_SERVER_ERROR')]])
    expect(thrown).toMatchObject({ code: 'INTERNAL_SERVER_ERROR' })
    expect(asked).toBe(5)
  })
})

function toEvent(cursor: string): object {
  return {
    ...{ __typename: 'TurnStarted', id: `evt_${ID}_${cursor}`, type: 'TURN_STARTED', cursor, at: AT, sessionId: ID },
    ...{ turnId: null, stepIndex: null, attempt: null, number: 1, deliveries: [], trigger: 'MESSAGE', principal: null },
  }
}
