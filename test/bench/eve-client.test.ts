/** The client that measures eve, against a server that answers as eve does: what it must not count wrong. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createEveClient, type EveClient } from '../../bench/eve-client.js'
import { closeServer, listen } from '../../bench/listen.js'

/** One session: each message adds three events, and a stream ends after each turn, as eve's do now and then. */
function createFakeEve() {
  const events: string[] = []
  const starts: number[] = []
  const refusals: number[] = []
  const streams = new Set<() => void>()
  let refuse = 0

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://eve')
    if (request.method === 'GET') {
      stream(Number(url.searchParams.get('startIndex')), response)
      return
    }
    let text = ''
    for await (const chunk of request) text += String(chunk)
    if (refuse > 0) {
      refuse -= 1
      refusals.push(response.statusCode)
      response.writeHead(409, { 'content-type': 'application/json' }).end('{"code":"session_not_ready"}')
      return
    }
    const end = text.includes('fail') ? 'turn.failed' : 'session.waiting'
    events.push('turn.started', 'message.appended', end)
    response.writeHead(202, { 'content-type': 'application/json' }).end('{"sessionId":"one"}')
    for (const tell of streams) tell()
  }

  function stream(start: number, response: ServerResponse): void {
    starts.push(start)
    const tell = (): void => {
      const rest = events.slice(start)
      if (rest.length === 0) return
      streams.delete(tell)
      response.end(rest.map((type) => `${JSON.stringify({ type })}\n`).join(''))
    }
    response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    response.flushHeaders()
    streams.add(tell)
    tell()
  }
  return {
    server: createServer((request, response) => void answer(request, response)),
    starts,
    refusals,
    refuseNext: (times: number) => (refuse = times),
  }
}

describe('the client for eve', () => {
  let eve: ReturnType<typeof createFakeEve>
  let client: EveClient
  beforeEach(async () => {
    eve = createFakeEve()
    client = createEveClient((await listen(eve.server)).origin)
  })
  afterEach(async () => {
    client.close()
    await closeServer(eve.server)
  })

  it('opens a stream that ended where it was, so that a turn is not over by the events of the last one', async () => {
    const speaker = await client.open()
    const { acceptedMs, firstEventMs, turnMs } = await speaker.say('Good morning')
    expect(turnMs).toBeGreaterThanOrEqual(firstEventMs)
    expect(acceptedMs).toBeGreaterThan(0)
    await speaker.say('Good evening')
    speaker.close()
    expect(eve.starts.slice(0, 3)).toEqual([0, 3, 6])
  })

  it('says it again while the session is not ready', async () => {
    const speaker = await client.open()
    eve.refuseNext(2)
    await speaker.say('Good morning')
    speaker.close()
    expect(eve.refusals).toHaveLength(2)
  })

  it('does not take a turn that failed for a quick one', async () => {
    const speaker = await client.open()
    await expect(speaker.say('fail')).rejects.toThrow('a turn of the bench failed')
    speaker.close()
  })
})
