/** From what was found to what a person should know: pure, so that every case can be shown without breaking a server for it. */
import { withoutCredentials, type Config } from '../../config.js'
import type { Inspection, OpenedDatabase } from '../../inspect.js'
import { broken, counted, skipped, toFindings, warning, type Finding } from './finding.js'
import { judgeDatabase } from './judge-database.js'
import { judgeProcesses } from './judge-processes.js'
import { judgeRedis } from './judge-redis.js'
import { judgeSessions } from './judge-sessions.js'

export interface JudgeOptions {
  readonly config: Config
  /** The folder of the embedded database, as a person wrote it. */
  readonly dataDir: string
  readonly agentsPath: string
}

export function judge(inspection: Inspection, { config, dataDir, agentsPath }: JudgeOptions): readonly Finding[] {
  const { agents, database, redis } = inspection
  const processes = redis?.kind === 'reached' ? redis.processes : null
  const place = {
    location: config.databaseUrl === null ? dataDir : withoutCredentials(config.databaseUrl),
    database: config.databaseUrl === null ? '' : decodeURIComponent(new URL(config.databaseUrl).pathname.slice(1)),
    processes: processes === null ? null : processes.length,
    poolSize: config.poolSize,
  }
  return [
    ...judgeConfig(config),
    ...judgeAgents(agents, agentsPath),
    ...judgeDatabase(database, place),
    ...(redis === null ? [withoutRedis(config)] : judgeRedis(redis, withoutCredentials(config.redisUrl ?? ''))),
    ...(processes === null ? withoutProcesses(inspection) : judgeProcesses(processes, config.deployment)),
    ...judgeWork(inspection, processes),
  ]
}

function judgeConfig({ role, slots, deployment, databaseUrl, redisUrl, leaseTtlMs }: Config): readonly Finding[] {
  const leases = databaseUrl === null ? '' : ` · leases of ${leaseTtlMs / 1000} s`
  return toFindings('Configuration', `role ${role} · ${slots} slots${leases} · deployment ${deployment}`, [
    databaseUrl === null && redisUrl !== null
      ? warning('REDIS_URL is set and not used: the embedded database is for one process', 'set DATABASE_URL too, or unset REDIS_URL')
      : null,
  ])
}

function judgeAgents(agents: Inspection['agents'], path: string): readonly Finding[] {
  switch (agents.kind) {
    case 'unknown':
      return [skipped('Agents', `there is no ${path}; say where they are: perdure doctor <path>`)]
    case 'faulty':
      return toFindings('Agents', '', [broken(agents.fault.message, agents.fault.hint)])
    case 'loaded':
      return toFindings('Agents', `${agents.names.join(' · ')}   ${path}   ${agents.models.join(' · ')}`, [])
  }
}

function withoutRedis({ databaseUrl }: Config): Finding {
  if (databaseUrl === null) return skipped('Redis', 'not used: one process has the embedded database to itself')
  return skipped('Redis', 'REDIS_URL is not set: processes hear of each other through the database, up to a second later')
}

/** Only Redis knows them; the database sees their connections. */
function withoutProcesses({ database, redis }: Inspection): readonly Finding[] {
  if (redis !== null) return [skipped('Processes', 'not known: they are in Redis')]
  if (database.kind !== 'open' || database.engine === 'embedded') return []
  return [skipped('Processes', `known with REDIS_URL only; ${counted(database.server.ours, 'connection')} of Perdure here`)]
}

function judgeWork({ agents, database }: Inspection, processes: readonly { readonly slots: number }[] | null): readonly Finding[] {
  if (database.kind !== 'open' || database.backlog === null) return []
  const isDriven = processes === null ? isAnybodyThere(database) : processes.some(({ slots }) => slots > 0)
  return judgeSessions(database.backlog, { agents: agents.kind === 'loaded' ? agents.names : null, isDriven })
}

/** Whoever could open the embedded database is alone with it. Elsewhere connections tell of processes, and not of what these do. */
function isAnybodyThere({ engine, server }: OpenedDatabase): false | null {
  return engine === 'embedded' || server.ours === 0 ? false : null
}
