/** Findings of a review: each fails until it is mended. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { fastClient } from '../sdk/fast-client.js'

const ID = 'ses_01m8md3ehbe969tyybwza61spj'
for (const code of ['UNAVAILABLE', 'INTERNAL_SERVER_ERROR'])
  test(`an event stream outlasts an outage of the database (${code} on reconnect)`, async () => {
    let asked = 0
    const server = createServer((_, response) => {
      asked += 1
      response.setHeader('content-type', 'text/event-stream')
      const up = { data: { sessionEvents: { __typename: 'SessionEventsBatch', events: [], cursor: '0', caughtUp: true } } }
      const down = { errors: [{ message: 'The database does not answer just now.', extensions: { code } }] }
      response.end(`event: next\ndata: ${JSON.stringify(asked > 10 ? up : down)}\n\nevent: complete\ndata:\n\n`)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const client = fastClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`)
    let batches = 0
    let failure: unknown = null
    try {
      for await (const _ of client.session(ID).batches({ follow: false })) batches += 1
    } catch (thrown) {
      failure = thrown
    }
    server.closeAllConnections()
    server.close()
    expect({ batches, asked, failure: String(failure) }).toMatchObject({ batches: 1 })
  })
