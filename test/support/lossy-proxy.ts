/** Stands between the store and PostgreSQL, and can lose what the server answers: it takes the request, and the connection breaks. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface LossyProxy {
  /** The database's address through the proxy. */
  readonly url: string
  /** The next reply of the server on any connection is dropped together with the connection. */
  loseNextReply(): void
  /** Connections that are open now go silent: nothing passes and nobody is told, as when a firewall forgets them. New ones work. */
  silence(): void
  /** Breaks every connection and takes no new one until `open`. */
  shut(): void
  open(): void
  close(): Promise<void>
}

export async function startLossyProxy(target: string): Promise<LossyProxy> {
  const server = new URL(target)
  const sockets = new Set<Socket>()
  const silent = new Set<Socket>()
  let losing = false
  let shut = false
  const proxy = createServer((client) => {
    const upstream = connect(Number(server.port), server.hostname)
    const pair = [client, upstream] as const
    const destroy = (): void => pair.forEach((socket) => socket.destroy())
    for (const socket of pair) {
      sockets.add(socket)
      socket.on('error', destroy)
      socket.on('close', () => {
        sockets.delete(socket)
        destroy()
      })
    }
    if (shut) destroy()
    client.on('data', (data) => {
      if (!silent.has(client)) upstream.write(data)
    })
    upstream.on('data', (data) => {
      if (silent.has(client)) return
      if (losing) destroy()
      else client.write(data)
      losing = false
    })
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  url.port = String((proxy.address() as AddressInfo).port)
  return {
    url: url.href,
    loseNextReply: () => {
      losing = true
    },
    silence: () => {
      for (const socket of sockets) silent.add(socket)
    },
    shut: () => {
      shut = true
      for (const socket of sockets) socket.destroy()
    },
    open: () => {
      shut = false
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => proxy.close(resolve))
    },
  }
}
