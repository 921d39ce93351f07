/** A Redis of a test's own, to be killed, emptied and filled up. It keeps nothing on disk: started again, it is empty. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { startChildService, type ChildService } from './child-service.js'
import { findFreePort } from './server-process.js'

export interface RedisServer {
  readonly url: string
  /** One command on a connection of its own; throws what the server answers. */
  command(name: string, ...args: readonly (string | number)[]): Promise<unknown>
  /** Ends it with SIGKILL. */
  kill(): Promise<void>
  /** Starts it again at the same port. Without effect when it runs. */
  start(): Promise<void>
  close(): Promise<void>
}

export async function startRedisServer(): Promise<RedisServer> {
  const port = await findFreePort()
  const folder = await mkdtemp(join(tmpdir(), 'perdure-redis-'))
  const url = `redis://127.0.0.1:${port}`
  let running: ChildService | null = null
  const server: RedisServer = {
    url,
    async command(name, ...args) {
      const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null })
      try {
        await client.connect()
        return await client.call(name, ...args)
      } finally {
        client.disconnect()
      }
    },
    async kill() {
      await running?.kill('SIGKILL')
      running = null
    },
    async start() {
      const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no']
      running ??= await startChildService({ command: 'redis-server', args, readyWhen: /Ready to accept connections/ })
    },
    async close() {
      await server.kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
  await server.start()
  return server
}
