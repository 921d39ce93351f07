/**
 * Roles: one process that does everything against an api and a worker, who share the work over PostgreSQL and Redis; each pair of a database
 * and a prefix of its own. Asked over GraphQL, in turns.
 */
import { AGENT, SIMPLE } from './agent.js'
import type { Setting } from './bench.js'
import type { Role } from '../server/config.js'
import { createGraphqlClient, type GraphqlClient } from './graphql-client.js'
import { createPlace, type Place } from './place.js'
import type { Roles, RolesSide } from './results.js'
import { alternate, createSeries, toRatio, toTiming, type Series } from './series.js'
import { startServerProcess, type ServerProcess } from './server-process.js'
import { startSpeaker } from './speaker.js'
import { createLoad, toTurnsPerSecond } from './throughput.js'
import { withCleanup, type Cleanup } from './cleanup.js'

interface Side {
  readonly firstEvent: Series
  readonly load: Series
}

export async function measureRoles(setting: Setting): Promise<Roles> {
  const { sizes, signal } = setting
  return withCleanup(signal, async (cleanup) => {
    const [together, apart] = await Promise.all([openSide(setting, ['all'], cleanup), openSide(setting, ['api', 'worker'], cleanup)])
    await alternate([together.firstEvent, apart.firstEvent, together.load, apart.load], sizes.roles.rounds, signal)
    const toSide = ({ firstEvent, load }: Side): RolesSide => ({
      firstEvent: toTiming(firstEvent),
      sessions: sizes.roles.sessions,
      turnsPerSecond: toTurnsPerSecond(sizes.roles, load),
    })
    return {
      together: toSide(together),
      apart: toSide(apart),
      firstEventRatio: toRatio(apart.firstEvent, together.firstEvent),
      // As many turns in each: the times' ratio, the other way round.
      turnsRatio: toRatio(together.load, apart.load),
    }
  })
}

async function openSide({ services, sizes, warn }: Setting, roles: readonly Role[], cleanup: Cleanup): Promise<Side> {
  const place: Place = await createPlace(services)
  cleanup(() => place.drop())
  const processes = await Promise.all(roles.map((role) => startServerProcess({ place, role, warn }, cleanup)))
  const client = openClient(processes, cleanup)
  const start = async () => startSpeaker(client, await client.create(AGENT))
  const speaker = await start()
  cleanup(() => speaker.close())
  return {
    firstEvent: createSeries(async () => {
      const samples: number[] = []
      while (samples.length < sizes.roles.sends) samples.push((await speaker.say(SIMPLE)).firstEventMs)
      return samples
    }),
    load: createLoad(sizes.roles, start),
  }
}

export function openClient(processes: readonly ServerProcess[], cleanup: Cleanup): GraphqlClient {
  const url = processes.find((one) => one.url !== null)?.url
  if (url == null) throw new Error('no process of the bench answers requests')
  const client = createGraphqlClient(url)
  cleanup(() => client.close())
  return client
}
