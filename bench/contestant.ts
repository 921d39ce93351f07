/** One of those who do the same work, as the comparison sees it: one server process, a model server that both share, and HTTP between all. */
import { SIMPLE } from './agent.js'
import type { Setting } from './bench.js'
import type { Cleanup } from './cleanup.js'
import { EVE_VERSION, openEve } from './eve-app.js'
import { createEveClient } from './eve-client.js'
import { createGraphqlClient } from './graphql-client.js'
import { ASK, type ModelServer } from './model-server.js'
import { createPlace } from './place.js'
import { startServerProcess, type ServerProcess } from './server-process.js'
import { startSpeaker, type Speaker } from './speaker.js'

export interface Contestant {
  readonly name: string
  readonly storage: string
  /** A session with one turn behind it. */
  readonly open: () => Promise<Speaker>
  /** A session whose model call, of that id, is held. */
  openHeld(id: string): Promise<HeldSession>
  /** Kills its process. */
  kill(): Promise<void>
  /** Starts it again. */
  restart(): Promise<void>
}
export interface HeldSession {
  /** Resolves with the next event that comes, once `restart` has been called or before. */
  next(): Promise<void>
  close(): void
}

export async function openPerdure({ services, warn }: Setting, model: ModelServer, cleanup: Cleanup): Promise<Contestant> {
  const place = await createPlace(services)
  cleanup(() => place.drop())
  const start = (): Promise<ServerProcess> => startServerProcess({ place, role: 'all', modelUrl: model.url, warn }, cleanup)
  let server = await start()
  const connect = () => {
    if (server.url === null) throw new Error('the server of the bench has no endpoint')
    const client = createGraphqlClient(server.url)
    cleanup(() => client.close())
    return client
  }
  let client = connect()
  return {
    name: 'Perdure',
    storage: place.kind === 'embedded' ? 'PGlite, fsync off' : `PostgreSQL${place.redis === null ? '' : ' (and Redis)'}`,
    async open() {
      const speaker = await startSpeaker(client, await client.create('echo'))
      await speaker.say(SIMPLE)
      return speaker
    },
    async openHeld(id) {
      const sessionId = await client.create('echo')
      let seen = 0
      const stream = await client.follow(sessionId, ({ events }) => (seen += events.length))
      await client.send(sessionId, ASK.hold(id))
      await model.held(id)
      return {
        // The log is read from its beginning again: what is new is beyond what was seen.
        async next() {
          const before = seen
          let count = 0
          await new Promise<void>((resolve, reject) => {
            const read = ({ events }: { readonly events: readonly unknown[] }): void => {
              count += events.length
              if (count > before) resolve()
            }
            client.follow(sessionId, read).catch(reject)
          })
        },
        close: () => stream.close(),
      }
    },
    kill: () => server.kill(),
    async restart() {
      server = await start()
      client = connect()
    },
  }
}

export async function openEveContestant({ signal, say }: Setting, model: ModelServer, cleanup: Cleanup): Promise<Contestant> {
  const app = await openEve(say, signal)
  cleanup(() => app.close())
  let server = await app.start(model.url)
  cleanup(() => server.kill())
  const client = createEveClient(app.url)
  cleanup(() => client.close())
  return {
    name: `eve ${EVE_VERSION}`,
    storage: 'files (local world), no fsync',
    open: () => client.open(),
    async openHeld(id) {
      const speaker = await client.open()
      await speaker.send(ASK.hold(id))
      await model.held(id)
      return { next: () => speaker.heard(), close: () => speaker.close() }
    },
    kill: () => server.kill(),
    async restart() {
      server = await app.start(model.url)
    },
  }
}
