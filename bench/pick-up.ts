/**
 * Pick-up: a worker is killed with SIGKILL in the middle of a turn, in turns while its model call and while a tool of it runs, and another one,
 * with free slots, takes over. Real processes: an api, and two workers of which one is replaced after each kill.
 */
import { randomUUID } from 'node:crypto'
import { createClient, type Client, type Session } from '../sdk/index.js'
import { systemClock } from '../server/clock.js'
import type { Setting } from './bench.js'
import { withCleanup } from './cleanup.js'
import { ASK, SENTENCE, startModelServer, type ModelServer } from './model-server.js'
import { createPlace } from './place.js'
import type { PickUp } from './results.js'
import { createSeries, toTiming } from './series.js'
import { startServerProcess, type ServerProcess } from './server-process.js'

/** How long a turn may take once its worker is gone; after it, it is lost. */
const PATIENCE_MS = 60_000

interface Fleet {
  readonly client: Client
  readonly model: ModelServer
  readonly workers: ServerProcess[]
}
interface Kill {
  readonly pickedUpMs: number
  readonly isLost: boolean
  readonly repeatedCalls: number
}

export async function measurePickUp({ services, sizes, signal, warn }: Setting): Promise<PickUp> {
  const { leaseTtlMs, kills } = sizes.pickUp
  return withCleanup(signal, async (cleanup) => {
    const place = await createPlace(services)
    cleanup(() => place.drop())
    const model = await startModelServer()
    cleanup(() => model.close())
    const start = (role: 'api' | 'worker'): Promise<ServerProcess> =>
      startServerProcess({ place, role, leaseTtlMs, modelUrl: model.url, warn }, cleanup)
    const [api, ...workers] = await Promise.all([start('api'), start('worker'), start('worker')])
    const client = createClient({ url: String(api.url) })
    const fleet = { client, model, workers }
    const done: Kill[] = []
    while (done.length < kills) {
      signal.throwIfAborted()
      if (done.length > 0) workers.push(await start('worker'))
      done.push(await killOne(fleet, done.length % 2 === 0 ? 'charge' : 'hold'))
    }
    const pickedUp = createSeries(() => Promise.resolve([]))
    pickedUp.rounds.push(done.map(({ pickedUpMs }) => pickedUpMs))
    return {
      leaseTtlMs,
      kills,
      pickedUp: toTiming(pickedUp),
      maxMs: Math.max(...done.map(({ pickedUpMs }) => pickedUpMs)),
      lost: done.filter(({ isLost }) => isLost).length,
      repeatedCalls: done.reduce((sum, { repeatedCalls }) => sum + repeatedCalls, 0),
    }
  })
}

async function killOne(fleet: Fleet, way: 'hold' | 'charge'): Promise<Kill> {
  const { client, model, workers } = fleet
  const id = randomUUID()
  const turn = client.agent('echo').send(ASK[way](id))
  const { session } = await turn.accepted
  const log = followLog(session)
  const { pid } = await model.held(id)
  await log.until(way === 'hold' ? 'STEP_STARTED' : 'TOOL_CALL_START')
  const victim = workers.findIndex((worker) => worker.pid === pid)
  if (victim === -1) throw new Error(`process ${String(pid)} called the model, and is no worker of the bench`)
  const next = log.next()
  const killedAt = systemClock.monotonic()
  await workers.splice(victim, 1)[0]?.kill()
  const pickedUpMs = (await next) - killedAt
  const result = await turn.result({ timeoutMs: PATIENCE_MS })
  log.stop()
  const isWhole = result.status === 'completed' && result.text === SENTENCE
  return { pickedUpMs, isLost: !isWhole || !log.isGapless(), repeatedCalls: Math.max(0, model.charges(id) - 1) }
}

interface FollowedLog {
  /** Resolves once an event of this type has come. */
  until(type: string): Promise<void>
  /** Monotonic time of the next event. */
  next(): Promise<number>
  /** Every position came, once, in order. */
  isGapless(): boolean
  stop(): void
}

function followLog(session: Session): FollowedLog {
  const left = new AbortController()
  const positions: number[] = []
  const types = new Set<string>()
  const listeners = new Set<() => void>()
  const follow = async (): Promise<void> => {
    for await (const { cursor, type } of session.events({ signal: left.signal })) {
      positions.push(Number(cursor))
      types.add(type)
      for (const listener of listeners) listener()
    }
  }
  follow().catch(() => undefined)

  const next = (): Promise<number> =>
    new Promise((resolve) => {
      const listener = (): void => {
        listeners.delete(listener)
        resolve(systemClock.monotonic())
      }
      listeners.add(listener)
    })
  return {
    next,
    async until(type) {
      while (!types.has(type)) await next()
    },
    isGapless: () => positions.length > 0 && positions.every((position, index) => position === index + 1),
    stop: () => left.abort(),
  }
}
