/** What befalls a deployment in the soak: one mishap after another, each undone before the next. */
import type { RedisServer } from '../support/redis-server.js'
import type { ServerProcess } from '../support/server-process.js'
import type { Stage } from './stage.js'

export interface ChaosOptions {
  readonly stage: Stage
  readonly redis: RedisServer
  readonly workers: readonly ServerProcess[]
  /** Between two mishaps, milliseconds. */
  readonly paceMs: number
  readonly leaseTtlMs: number
  readonly signal: AbortSignal
}
export type Mishap = 'worker killed' | 'worker stopped' | 'worker frozen' | 'Redis emptied' | 'Redis killed'

const ORDER: readonly Mishap[] = ['worker killed', 'Redis emptied', 'worker frozen', 'worker killed', 'Redis killed', 'worker stopped']

/** Until the signal aborts. Answers what was done, and the workers that run then. */
export async function wreakHavoc({ stage, redis, workers, paceMs, leaseTtlMs, signal }: ChaosOptions) {
  const running = [...workers]
  const done: Mishap[] = []
  const replace = async (how: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
    const [oldest] = running.splice(0, 1)
    await oldest?.kill(how)
    running.push(await stage.deployment.start({ role: 'worker' }))
  }
  const mishaps: Readonly<Record<Mishap, () => Promise<unknown>>> = {
    'worker killed': () => replace('SIGKILL'),
    'worker stopped': () => replace('SIGTERM'),
    'worker frozen': () => freeze(running.at(0), leaseTtlMs + 500),
    'Redis emptied': () => redis.command('FLUSHALL'),
    'Redis killed': async () => {
      await redis.kill()
      await redis.start()
    },
  }
  while (!signal.aborted) {
    const next = ORDER[done.length % ORDER.length] ?? 'worker killed'
    await mishaps[next]()
    done.push(next)
    await pause(paceMs, signal)
  }
  return { done, running }
}

async function freeze(worker: ServerProcess | undefined, ms: number): Promise<void> {
  if (worker === undefined) return
  process.kill(worker.pid, 'SIGSTOP')
  await pause(ms)
  process.kill(worker.pid, 'SIGCONT')
}

/** Time is what a soak is made of. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener(
      'abort',
      () => {
        clearTimeout(timer)
        resolve()
      },
      { once: true },
    )
  })
}
