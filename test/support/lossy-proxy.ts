/**
 * Stands between a client and its server (PostgreSQL, Redis), and does to their connections what networks do: breaks, silences, slows
 * them down, ends one half, or loses what the server answers: it takes the request, and the connection breaks.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

export interface LossyProxy {
  /** The server's address through the proxy. */
  readonly url: string
  /** The next reply of the server on any connection is dropped together with the connection. */
  loseNextReply(): void
  /** Connections that are open now go silent: nothing passes and nobody is told, as when a firewall forgets them. New ones work. */
  silence(): void
  /** Ends the server's half of every open connection, in order: the client may still send, and gets no answer any more. New ones work. */
  halfClose(): void
  /** From now on everything arrives so much later, both ways and on open connections too. 0: at once again. */
  delay(ms: number): void
  /** Lets so many bytes a second through, each way of each connection. Infinity: all. */
  throttle(bytesPerSecond: number): void
  /** Breaks every connection and takes no new one until `open`. */
  shut(): void
  open(): void
  close(): Promise<void>
}

/** What is done to connections now. */
interface Weather {
  delayMs: number
  bytesPerSecond: number
  losing: boolean
  shut: boolean
}
interface Pair {
  readonly client: Socket
  readonly upstream: Socket
  silent: boolean
}

export async function startLossyProxy(target: string): Promise<LossyProxy> {
  const server = new URL(target)
  const pairs = new Set<Pair>()
  const weather: Weather = { delayMs: 0, bytesPerSecond: Infinity, losing: false, shut: false }
  const proxy = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect(Number(server.port), server.hostname)
    relay({ client, upstream, silent: false }, pairs, weather)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  url.port = String((proxy.address() as AddressInfo).port)
  const each = (act: (pair: Pair) => void): void => [...pairs].forEach(act)
  return {
    url: url.href,
    loseNextReply: () => void (weather.losing = true),
    silence: () => each((pair) => (pair.silent = true)),
    halfClose: () =>
      each((pair) => {
        pair.silent = true
        pair.client.end()
      }),
    delay: (ms) => void (weather.delayMs = ms),
    throttle: (bytesPerSecond) => void (weather.bytesPerSecond = bytesPerSecond),
    shut: () => {
      weather.shut = true
      each(breakOff)
    },
    open: () => void (weather.shut = false),
    close: async () => {
      each(breakOff)
      await new Promise((resolve) => proxy.close(resolve))
    },
  }
}

function breakOff({ client, upstream }: Pair): void {
  client.destroy()
  upstream.destroy()
}

function relay(pair: Pair, pairs: Set<Pair>, weather: Weather): void {
  const { client, upstream } = pair
  pairs.add(pair)
  for (const socket of [client, upstream]) {
    socket.on('error', () => breakOff(pair))
    socket.on('close', () => {
      pairs.delete(pair)
      breakOff(pair)
    })
  }
  if (weather.shut) breakOff(pair)
  const toServer = slowly(upstream, weather)
  const toClient = slowly(client, weather)
  client.on('data', (data) => {
    if (!pair.silent) toServer(data)
  })
  client.on('end', () => {
    if (!pair.silent) upstream.end()
  })
  upstream.on('end', () => {
    if (!pair.silent) client.end()
  })
  upstream.on('data', (data) => {
    if (pair.silent) return
    if (weather.losing) breakOff(pair)
    else toClient(data)
    weather.losing = false
  })
}

/** Writes in order, each piece when the weather lets it through. */
function slowly(to: Socket, weather: Weather): (data: Buffer) => void {
  let queue = Promise.resolve()
  let queued = 0
  return (data) => {
    const ms = (data.length / weather.bytesPerSecond) * 1000
    if (ms === 0 && weather.delayMs === 0 && queued === 0) {
      to.write(data)
      return
    }
    const arrivesAt = performance.now() + weather.delayMs
    queued += 1
    queue = queue.then(async () => {
      await wait(Math.max(0, arrivesAt - performance.now()) + ms)
      to.write(data)
      queued -= 1
    })
  }
}
