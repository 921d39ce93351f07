/** The processes that share this Redis, as they say of themselves. */
import type { Cluster, Redis } from 'ioredis'
import { storedId } from '../ids.js'
import type { ProcessPresence } from '../session/ports.js'
import type { RedisNames } from './redis-commands.js'

/** Those whose last sign of life still counts, the oldest first. */
export async function readProcesses(
  redis: Redis | Cluster,
  { processes }: Pick<RedisNames, 'processes'>,
): Promise<readonly ProcessPresence[]> {
  const [registry, alive] = processes
  const [seconds] = await redis.time()
  const [ids, texts] = await Promise.all([redis.zrangebyscore(alive, Number(seconds) * 1_000_000, '+inf'), redis.hgetall(registry)])
  const found = ids.flatMap((id) => parsePresence(texts[id]) ?? [])
  return found.sort((one, other) => one.startedAt - other.startedAt)
}

function parsePresence(text: string | undefined): ProcessPresence | null {
  if (text === undefined) return null
  const value: unknown = JSON.parse(text)
  if (typeof value !== 'object' || value === null) return null
  const read = (name: string): unknown => Object.entries(value).find(([key]) => key === name)?.[1]
  const role = (['all', 'api', 'worker'] as const).find((each) => each === read('role'))
  if (role === undefined) return null
  return {
    id: storedId('wrk', String(read('id'))),
    role,
    deployment: String(read('deployment')),
    host: String(read('host')),
    pid: Number(read('pid')),
    startedAt: Number(read('startedAt')),
    slots: Number(read('slots')),
  }
}
