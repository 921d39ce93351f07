/** Redis: an accelerator, so nothing is lost without it; but whoever set REDIS_URL wants it to work. */
import type { Inspection } from '../../inspect.js'
import { broken, toFindings, warning, type Finding, type Problem } from './finding.js'

type RedisFacts = NonNullable<Inspection['redis']>
type Reached = Extract<RedisFacts, { kind: 'reached' }>

const OLDEST_REDIS = [6, 2] as const
const SLOW_MS = 10
const MEGABYTE = 1024 * 1024
const NEARLY_FULL = 0.8
const MEANWHILE = 'meanwhile sessions are found in the database, a little later'
const REFUSED = new Set(['WRONGPASS', 'NOAUTH', 'NOPERM'])

/** What to do about an answer, by its first word. */
const MENDS: Readonly<Record<string, string>> = {
  OOM: 'raise maxmemory, or give Perdure a Redis of its own',
  READONLY: 'let REDIS_URL lead to the primary',
  MISCONF: 'let it save to disk, or: CONFIG SET stop-writes-on-bgsave-error no (Perdure needs none of it after a restart)',
  NOPERM: 'give the user of REDIS_URL the keys and channels that begin with the prefix, and the commands that it asks for',
  MOVED: 'add ?cluster=true to REDIS_URL',
  LOADING: 'wait until it has loaded its data',
}

export function judgeRedis(facts: RedisFacts, location: string): readonly Finding[] {
  if (facts.kind === 'unreachable') return toFindings('Redis', '', [unreachable(facts, location)])
  const { server, version, roundTripMs, memory } = facts
  const used = `${(memory.used / MEGABYTE).toFixed(1)} MB${memory.limit > 0 ? ` of ${(memory.limit / MEGABYTE).toFixed(1)}` : ''}`
  return toFindings('Redis', `${server} ${version}, answers in ${roundTripMs.toFixed(1)} ms, ${used} used   ${location}`, [
    judgeVersion(facts),
    ...judgeUse(facts),
    ...judgeMemory(facts),
    roundTripMs > SLOW_MS ? warning(`an answer takes ${roundTripMs.toFixed(0)} ms`, 'run it near the processes') : null,
  ])
}

function unreachable({ code, message }: Extract<RedisFacts, { kind: 'unreachable' }>, location: string): Problem {
  if (REFUSED.has(code)) return broken(`Redis at ${location} refused the user or the password (${code}).`, 'correct them in REDIS_URL')
  const reason = code === '' ? message.replace(/\.$/, '') : code
  const another = code === '' ? 'something else than Redis may listen there: check REDIS_URL' : 'start it, or correct REDIS_URL'
  return broken(`Can't reach Redis at ${location} (${reason}).`, `${another}; ${MEANWHILE}`)
}

function judgeVersion({ server, version }: Reached): Problem | null {
  if (server === 'valkey') return null
  if (server !== 'redis') return warning(`it calls itself ${server}, which Perdure is not tested with`, 'use Redis 6.2 or newer, or Valkey')
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isOld = major < OLDEST_REDIS[0] || (major === OLDEST_REDIS[0] && minor < OLDEST_REDIS[1])
  return isOld ? broken(`Redis ${version} is too old`, 'use Redis 6.2 or newer, or Valkey') : null
}

function judgeUse({ role, cluster, faults }: Reached): readonly (Problem | null)[] {
  if (cluster.isNode && !cluster.addressed) return [broken('it is a node of a cluster', 'add ?cluster=true to REDIS_URL')]
  if (!cluster.isNode && cluster.addressed)
    return [broken('it is no cluster, though REDIS_URL says so', 'leave ?cluster=true out of REDIS_URL')]
  if (role === 'slave') return [broken('it is a replica, which only reads', 'let REDIS_URL lead to the primary')]
  return [
    failing('takes no writes', faults.write),
    faults.write === null ? failing('runs no scripts', faults.script) : null,
    failing('carries no messages', faults.message),
  ]
}

function failing(what: string, answer: string | null): Problem | null {
  if (answer === null) return null
  const mend = MENDS[/^[A-Z]+/.exec(answer)?.[0] ?? ''] ?? 'see its log'
  return broken(`it ${what}: ${answer}`, `${mend}; ${MEANWHILE}`)
}

function judgeMemory({ memory: { used, limit, policy }, faults }: Reached): readonly (Problem | null)[] {
  if (limit === 0 || faults.write !== null) return [null]
  return [
    policy === 'noeviction'
      ? null
      : warning(
          `when it is full it forgets keys (maxmemory-policy ${policy}), and sessions wait for the next look`,
          'maxmemory-policy noeviction, or a Redis of its own',
        ),
    used > limit * NEARLY_FULL ? warning(`${Math.round((used / limit) * 100)} % of its memory is used`, MENDS['OOM'] ?? '') : null,
  ]
}
