/** Findings of a review: each fails until it is mended. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { createClient } from '../../sdk/client.js'

const ID = 'ses_01m8md3ehbe969tyybwza61spj'
const event = {
  __typename: 'TurnStarted',
  id: `evt_${ID}_1`,
  type: 'TURN_STARTED',
  cursor: '1',
  at: '2026-01-01T00:00:00Z',
  sessionId: ID,
  turnId: null,
  stepIndex: null,
  attempt: null,
  number: 1,
  deliveries: [],
  trigger: 'MESSAGE',
  principal: null,
}

for (const follow of [false, true])
  test(`a replay that a stopping server completes before its end is not taken for the whole log (follow: ${follow})`, async () => {
    let subscriptions = 0
    const server = createServer((request, response) => {
      let body = ''
      request.on('data', (chunk: Buffer) => (body += chunk.toString()))
      request.on('end', () => {
        if (!body.includes('subscription')) {
          response.setHeader('content-type', 'application/json')
          response.end(JSON.stringify({ data: { session: { endedAt: '2026-01-01T00:00:00Z' } } }))
          return
        }
        subscriptions += 1
        response.setHeader('content-type', 'text/event-stream')
        const batch = (cursor: string, caughtUp: boolean) =>
          `event: next\ndata: ${JSON.stringify({ data: { sessionEvents: { __typename: 'SessionEventsBatch', events: [{ ...event, cursor }], cursor, caughtUp } } })}\n\n`
        response.end(`${subscriptions === 1 ? batch('1', false) : batch('2', true)}event: complete\ndata:\n\n`)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const client = createClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql` })
    const cursors: string[] = []
    for await (const batch of client.session(ID).batches({ follow })) cursors.push(batch.cursor)
    server.closeAllConnections()
    server.close()
    expect(cursors).toEqual(['1', '2'])
  })
