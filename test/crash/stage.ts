/**
 * What the crash tests play on: a deployment, the database beside it, and for each session two subscribers that share no process with one
 * another. Whatever happened to the processes, `finish` of a scene asks the same of each session.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import type { Session, SessionEvent, TurnResult } from '../../sdk/index.js'
import { systemClock } from '../../server/clock.js'
import { storedId, type SessionId } from '../../server/ids.js'
import type { RecordedEvent } from '../../server/session/events.js'
import { openStore, type OpenStore } from '../../server/store/open.js'
import { MIGRATIONS } from '../support/databases.js'
import { Deployment, type DeploymentOptions } from '../support/deployment.js'
import { expectSound } from '../support/expect-sound.js'
import type { ServerProcess } from '../support/server-process.js'
import { Witness, type Sighting, type UntilOptions } from '../support/witness.js'

export const AGENTS = fileURLToPath(new URL('agents.ts', import.meta.url))

/** Two server processes: what one is told, the other shows. */
export type Doors = readonly [ServerProcess, ServerProcess]

/** A start of a tool's code, as the tool itself noted it. */
export interface StartedCall {
  readonly name: string
  readonly callId: string
  readonly pid: number
}

export interface StageOptions extends Omit<DeploymentOptions, 'agents' | 'databaseUrl'> {
  readonly databaseUrl: string
  /** The database as the test reaches it, when the deployment is behind a proxy. Default: `databaseUrl`. */
  readonly directUrl?: string
}

export class Stage {
  readonly deployment: Deployment
  readonly database: OpenStore
  readonly #abort = new AbortController()

  private constructor(deployment: Deployment, database: OpenStore) {
    this.deployment = deployment
    this.database = database
  }

  /** An empty database becomes a stage without processes. */
  static async create({ directUrl, ...options }: StageOptions): Promise<Stage> {
    const databaseUrl = directUrl ?? options.databaseUrl
    const database = await openStore({ databaseUrl, dataDir: '', migrationsDir: MIGRATIONS, clock: systemClock, poolSize: 3 })
    return new Stage(await Deployment.create({ ...options, agents: AGENTS }), database)
  }

  /** Sends a first message through the first door; the session is followed through both. */
  async open(text: string, doors: Doors): Promise<Scene> {
    const [first, second] = doors.map((door) => this.deployment.client(door))
    if (first === undefined || second === undefined) throw new Error('two doors')
    const turn = first.agent('crash').send(text)
    const { session } = await turn.accepted
    const { signal } = this.#abort
    const witnesses = [new Witness(session, signal), new Witness(second.session(session.id), signal)] as const
    return new Scene({ stage: this, text, session, sameElsewhere: second.session(session.id), result: turn.result({ signal }), witnesses })
  }

  openGate(name: string): Promise<void> {
    return writeFile(join(this.deployment.folder, `gate-${name}`), '')
  }

  async startedCalls(): Promise<readonly StartedCall[]> {
    const lines = await this.#readLines('calls.log')
    return lines.map((line) => {
      const [name = '', callId = '', pid = ''] = line.split(' ')
      return { name, callId, pid: Number(pid) }
    })
  }

  /** The processes that called the model with this text, in order. */
  async drivers(text: string): Promise<readonly number[]> {
    const lines = await this.#readLines('models.log')
    return lines.filter((line) => line.endsWith(` ${text}`)).map((line) => Number.parseInt(line, 10))
  }

  async close(): Promise<void> {
    this.#abort.abort(new Error('the test is over'))
    await this.deployment.remove()
    await this.database.close()
  }

  async #readLines(file: string): Promise<readonly string[]> {
    const text = await readFile(join(this.deployment.folder, file), 'utf8').catch(() => '')
    return text.split('\n').filter((line) => line !== '')
  }
}

/** Milliseconds from the sending of a message. */
export interface Exchange {
  /** To the begin of its turn. */
  readonly startedMs: number
  /** To the later subscriber's sight of the turn's end. */
  readonly toldMs: number
}

interface SceneParts {
  readonly stage: Stage
  readonly text: string
  readonly session: Session
  /** The session through the second door. */
  readonly sameElsewhere: Session
  readonly result: Promise<TurnResult>
  readonly witnesses: readonly [Witness, Witness]
}

/** One session, from its first message on. */
export class Scene {
  readonly id: SessionId
  readonly text: string
  readonly session: Session
  readonly sameElsewhere: Session
  /** Of the first message's turn. */
  readonly result: Promise<TurnResult>
  /** Through the first door and through the second. */
  readonly witnesses: readonly [Witness, Witness]
  readonly #stage: Stage

  constructor({ stage, text, session, sameElsewhere, result, witnesses }: SceneParts) {
    this.id = storedId('ses', session.id)
    this.text = text
    this.session = session
    this.sameElsewhere = sameElsewhere
    this.result = result
    this.#stage = stage
    this.witnesses = witnesses
    result.catch(() => undefined)
  }

  /** When both subscribers have seen it: what the later one saw. */
  async until(what: SessionEvent['type'] | ((event: SessionEvent) => boolean), options?: UntilOptions): Promise<Sighting> {
    const [first, second] = await Promise.all([this.witnesses[0].until(what, options), this.witnesses[1].until(what, options)])
    return first.at > second.at ? first : second
  }

  /** Sends to the session at rest, through the first door, and waits until both subscribers have seen the turn's end. */
  async exchange(text: string): Promise<Exchange> {
    const sentAt = Date.now()
    const { delivery } = await this.session.send(text).accepted
    const { event } = await this.until((told) => told.type === 'TURN_STARTED' && told.deliveries.includes(delivery.id))
    const { at } = await this.until((told) => told.type === 'TURN_COMPLETED' && told.turnId === event.turnId)
    return { startedMs: Date.parse(event.at) - sentAt, toldMs: at - sentAt }
  }

  /** The session's head as the database has it. */
  head() {
    return this.#stage.database.prisma.sessionHead.findUniqueOrThrow({ where: { sessionId: this.id } })
  }

  /**
   * Ends the session through the second door and holds what must be true of every one: log and history are sound, both subscribers saw each
   * event of the log once and in order, and each call that was started began once. Gives the log.
   */
  async finish(): Promise<readonly RecordedEvent[]> {
    await this.sameElsewhere.end()
    await this.until(isEnd)
    await Promise.all(this.witnesses.map((witness) => witness.ended))
    const log = await expectSound(this.#stage.database.store, this.id)
    const told = log.map((event) => `${event.position} ${event.type}`)
    for (const witness of this.witnesses) expect(witness.told).toEqual(told)
    await this.#expectStartedOnce(log)
    return log
  }

  async #expectStartedOnce(log: readonly RecordedEvent[]): Promise<void> {
    const started = (await this.#stage.startedCalls()).filter(({ name }) => name !== 'look').map(({ callId }) => callId)
    for (const event of log) {
      if (event.type !== 'TOOL_CALL_END' || event.data.name === 'look') continue
      const times = started.filter((callId) => callId === event.data.callId).length
      expect(times, `${event.data.name} ${event.data.status}`).toBe(1)
    }
  }
}

function isEnd({ type }: SessionEvent): boolean {
  return type === 'SESSION_COMPLETED' || type === 'SESSION_FAILED' || type === 'SESSION_CANCELLED'
}
