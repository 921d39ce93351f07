/**
 * A TCP proxy that breaks connections as told: for tests of whatever has to survive a bad network. Faults are used up in the order
 * they were added, one a connection; a connection without one is passed through. Connections on which nothing is asked, as HTTP
 * clients keep in reserve, do not count.
 */
import { once } from 'node:events'
import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net'

/** Bytes are those of the server's answer, headers included. */
export type Fault =
  /** Passes so many bytes, then resets both sides. */
  | { readonly kind: 'cut'; readonly afterBytes: number }
  /** Passes so many bytes, then ends the client's side in an orderly way, as a proxy does that is shut down. */
  | { readonly kind: 'half-close'; readonly afterBytes: number }
  /** Passes so many bytes, then keeps the connection open and says nothing more. */
  | { readonly kind: 'stall'; readonly afterBytes: number }
  /** Holds the whole answer back until `until` settles. */
  | { readonly kind: 'delay'; readonly until: Promise<void> }
  /** Closes before anything reaches the server. */
  | { readonly kind: 'refuse' }

export interface FaultyProxy {
  /** The target's url, through the proxy. */
  readonly url: string
  /** Connections taken so far. */
  connections(): number
  /** Bytes of answers passed so far. */
  bytes(): number
  add(...faults: readonly Fault[]): void
  /** Resets every open connection, as the death of the server does; resolves when they are gone. */
  resetAll(): Promise<void>
  close(): Promise<void>
}

export async function startFaultyProxy(target: string): Promise<FaultyProxy> {
  const to = new URL(target)
  const faults: Fault[] = []
  const open = new Set<Socket>()
  let connections = 0
  const count = { bytes: 0 }
  const server = createServer((client) => {
    open.add(client)
    client.on('close', () => open.delete(client))
    client.on('error', () => client.destroy())
    client.once('data', (question) => {
      connections += 1
      relay(client, { port: Number(to.port), host: to.hostname }, { question, fault: faults.shift(), count })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const resetAll = async (): Promise<void> => {
    const gone = [...open].map((client) => once(client, 'close'))
    open.forEach((client) => client.resetAndDestroy())
    await Promise.all(gone)
  }
  return {
    url: url.href,
    connections: () => connections,
    bytes: () => count.bytes,
    add: (...more) => void faults.push(...more),
    resetAll,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        void resetAll()
      }),
  }
}

interface Relaying {
  /** The first bytes of the client. */
  readonly question: Buffer
  readonly fault: Fault | undefined
  readonly count: { bytes: number }
}

function relay(client: Socket, target: { readonly port: number; readonly host: string }, { question, fault, count }: Relaying): void {
  if (fault?.kind === 'refuse') {
    client.resetAndDestroy()
    return
  }
  const upstream = createConnection(target)
  upstream.on('error', () => client.destroy())
  upstream.on('end', () => client.end())
  upstream.write(question)
  client.on('data', (bytes) => upstream.write(bytes))
  client.on('close', () => upstream.destroy())
  if (fault?.kind === 'delay') {
    upstream.pause()
    void fault.until.then(() => upstream.resume())
  }
  const limit = fault !== undefined && 'afterBytes' in fault ? fault.afterBytes : Infinity
  let passed = 0
  if (limit === 0 && fault !== undefined) upstream.once('connect', () => act(client, fault))
  upstream.on('data', (bytes) => {
    const allowed = bytes.subarray(0, Math.max(0, limit - passed))
    passed += bytes.length
    count.bytes += allowed.length
    if (allowed.length === 0) return
    client.write(allowed, () => {
      if (passed >= limit && fault !== undefined) act(client, fault)
    })
  })
}

function act(client: Socket, fault: Fault): void {
  if (fault.kind === 'cut') client.resetAndDestroy()
  if (fault.kind === 'half-close') client.end()
}
