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

/** Null for what another version says in a way that this one does not know. */
function parsePresence(text: string | undefined): ProcessPresence | null {
  const value = parseJson(text ?? 'null')
  if (typeof value !== 'object' || value === null) return null
  const said = new Map<string, unknown>(Object.entries(value))
  const role = (['all', 'api', 'worker'] as const).find((each) => each === said.get('role'))
  if (role === undefined) return null
  return {
    id: storedId('wrk', String(said.get('id'))),
    role,
    deployment: String(said.get('deployment')),
    host: String(said.get('host')),
    pid: Number(said.get('pid')),
    startedAt: Number(said.get('startedAt')),
    slots: Number(said.get('slots')),
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
