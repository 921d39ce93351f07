/** Stands between a process and Redis and knows its two connections apart: one sends commands, the other one hears. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export type Kind = 'commands' | 'subscriber'
export interface RedisProxy {
  readonly url: string
  /** Connections of this kind that are open now go silent; new ones work. */
  silence(kind: Kind): void
  /** What Redis says on connections of this kind waits, until `release`. */
  hold(kind: Kind): void
  release(kind: Kind): void
  /** The next answer to a connection of this kind is passed on by half, then the connection breaks. */
  cutNextAnswer(kind: Kind): void
  close(): Promise<void>
}
interface Pair {
  readonly client: Socket
  readonly server: Socket
  kind: Kind
  isSilent: boolean
}
interface Orders {
  readonly cut: Set<Kind>
  readonly hold: Set<Kind>
  /** What waits, in order. */
  readonly waiting: { readonly pair: Pair; readonly data: Buffer }[]
}

export async function startRedisProxy(target: string): Promise<RedisProxy> {
  const pairs = new Set<Pair>()
  const orders: Orders = { cut: new Set(), hold: new Set(), waiting: [] }
  const proxy = createServer((client) => {
    const { port, hostname } = new URL(target)
    const pair: Pair = { client, server: connect(Number(port), hostname), kind: 'commands', isSilent: false }
    pairs.add(pair)
    relay(pair, orders)
    client.on('close', () => pairs.delete(pair))
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  url.port = String((proxy.address() as AddressInfo).port)
  return {
    url: url.href,
    silence: (kind) => {
      for (const pair of pairs) if (pair.kind === kind) pair.isSilent = true
    },
    hold: (kind) => void orders.hold.add(kind),
    release(kind) {
      orders.hold.delete(kind)
      for (const { pair, data } of orders.waiting.splice(0)) pass(pair, data, orders)
    },
    cutNextAnswer: (kind) => void orders.cut.add(kind),
    async close() {
      for (const { client } of pairs) client.destroy()
      await new Promise((resolve) => proxy.close(resolve))
    },
  }
}

function relay(pair: Pair, orders: Orders): void {
  const { client, server } = pair
  const breakOff = (): void => {
    client.destroy()
    server.destroy()
  }
  for (const socket of [client, server]) socket.on('error', breakOff).on('close', breakOff)
  client.on('data', (data) => {
    if (/\r\nsubscribe\r\n/i.test(data.toString())) pair.kind = 'subscriber'
    if (!pair.isSilent) server.write(data)
  })
  server.on('data', (data) => pass(pair, data, orders))
}

function pass(pair: Pair, data: Buffer, { cut, hold, waiting }: Orders): void {
  const { client, kind, isSilent } = pair
  if (isSilent) return
  if (hold.has(kind)) waiting.push({ pair, data })
  else if (cut.delete(kind)) client.write(data.subarray(0, data.length / 2), () => client.destroy())
  else client.write(data)
}
