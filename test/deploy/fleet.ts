/**
 * The processes that compose.yaml names, on this machine: their commands and environment as the files say, with the addresses of this
 * machine in place of those of the services. The same processes can be run as the systemd units say.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { expect, vi } from 'vitest'
import { createClient, type Client } from '../../sdk/index.js'
import { startChildService, type ChildService } from '../support/child-service.js'
import { createTestDatabase, type TestDatabase } from '../support/databases.js'
import { findFreePort } from '../support/server-process.js'
import { readComposeFile, type Service, type Variables } from './compose-file.js'
import { layOutImage, type Image } from './image.js'
import { TalkingModel } from './talking-model.js'
import { readUnit } from './unit-file.js'

/** The shortest that a busy machine keeps renewing in time. */
const LEASE_TTL_MS = 3000
export const TOKEN = 'a-token-of-the-tests-that-is-long-enough'
const READY_TIMEOUT_MS = 30_000
const ROLES = ['api', 'worker'] as const

/** What the operator writes into `.env` or into the environment file. */
const SETTINGS = {
  PERDURE_DEPLOYMENT: '1',
  PERDURE_LEASE_TTL_MS: String(LEASE_TTL_MS),
  API_TOKENS: `ada:${TOKEN}`,
}

export interface FleetProcess {
  readonly name: string
  readonly role: (typeof ROLES)[number]
  readonly port: number
  readonly environment: Variables
  /** After that long whoever runs it kills it. */
  readonly graceMs: number
  /** Sends the signal and waits for the end; answers the exit code, null when the signal ended it. */
  kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null>
  /** Every line that it has printed, parsed. */
  readonly lines: readonly unknown[]
}

interface Run {
  readonly command: readonly string[]
  readonly environment: Variables
  readonly graceMs: number
}

interface Parts {
  readonly image: Image
  readonly model: TalkingModel
  readonly database: TestDatabase
  readonly redis: ChildService
  readonly folder: string
  readonly services: ReadonlyMap<string, Service>
  readonly addresses: Variables
  readonly ports: ReadonlyMap<string, number>
}

export class Fleet {
  readonly model: TalkingModel
  readonly databaseUrl: string
  readonly image: Image
  readonly ports: ReadonlyMap<string, number>
  /** Those that run now, by name. */
  readonly processes = new Map<string, FleetProcess>()
  readonly #parts: Parts
  /** Also those that are not ready yet. */
  readonly #children = new Set<ChildProcess>()

  private constructor(parts: Parts) {
    this.#parts = parts
    this.model = parts.model
    this.databaseUrl = parts.database.url
    this.image = parts.image
    this.ports = parts.ports
  }

  /** Everything but the processes of Perdure. */
  static async open(): Promise<Fleet> {
    const [image, model, database] = await Promise.all([layOutImage(), TalkingModel.start(), createTestDatabase()])
    const settings = { ...SETTINGS, POSTGRES_PASSWORD: 'secret', OPENAI_API_KEY: 'set', OPENAI_BASE_URL: model.baseUrl }
    const services = await readComposeFile(settings)
    const [redisPort, folder] = await Promise.all([findFreePort(), mkdtemp(join(tmpdir(), 'perdure-fleet-'))])
    const [command = '', ...args] = services.get('redis')?.command ?? []
    const here = ['--port', String(redisPort), '--bind', '127.0.0.1', '--dir', folder]
    const redis = await startChildService({ command, args: [...args, ...here], readyWhen: /Ready to accept connections/ })
    const addresses = { DATABASE_URL: database.url, REDIS_URL: `redis://127.0.0.1:${redisPort}`, OPENAI_BASE_URL: model.baseUrl }
    const names = [...services].flatMap(([name, { environment }]) => ('PERDURE_ROLE' in environment ? [name] : []))
    const ports = new Map<string, number>()
    for (const name of names) ports.set(name, await findFreePort())
    return new Fleet({ image, model, database, redis, folder, services, addresses, ports })
  }

  /** As compose.yaml says. Resolves once it takes requests. */
  async start(name: string): Promise<FleetProcess> {
    const { services, image } = this.#parts
    const service = services.get(name)
    if (service === undefined) throw new Error(`compose.yaml has no ${name}`)
    const command = service.command.length > 0 ? service.command : image.command
    return this.#run(name, { command, environment: service.environment, graceMs: Number.parseInt(service.stop_grace_period) * 1000 })
  }

  /** As its systemd unit says, at the same port. */
  async startUnit(name: string): Promise<FleetProcess> {
    const port = this.portOf(name)
    const unit = await readUnit(roleOf(name), port, { ...SETTINGS, OPENAI_API_KEY: 'set' })
    const process = await this.#run(name, { ...unit, graceMs: unit.stopTimeoutMs })
    await vi.waitFor(async () => expect((await fetch(unit.readyUrl)).status).toBe(200), { timeout: READY_TIMEOUT_MS })
    return process
  }

  get(name: string): FleetProcess {
    const process = this.processes.get(name)
    if (process === undefined) throw new Error(`${name} does not run`)
    return process
  }

  portOf(name: string): number {
    return this.ports.get(name) ?? 0
  }

  client(url: string, token = TOKEN): Client {
    return createClient({ url: `${url}/graphql`, token })
  }

  /** Through one api process, past every proxy. */
  clientOf(name: string): Client {
    return this.client(`http://127.0.0.1:${this.portOf(name)}`)
  }

  async close(): Promise<void> {
    const { model, redis, database, image, folder } = this.#parts
    await Promise.all([...this.#children].map((child) => end(child, 'SIGKILL')))
    await Promise.all([model.close(), redis.kill('SIGKILL')])
    await Promise.all([database.drop(), image.remove(), rm(folder, { recursive: true, force: true })])
  }

  async #run(name: string, { command, environment, graceMs }: Run): Promise<FleetProcess> {
    const [program = '', ...args] = command
    const port = this.portOf(name)
    // The key tells the model server who asks.
    const all = { ...environment, ...this.#parts.addresses, PERDURE_PORT: String(port), OPENAI_API_KEY: name }
    const child = spawn(/(^|\/)node$/.test(program) ? process.execPath : program, args, {
      cwd: this.image.folder,
      env: { PATH: process.env['PATH'], ...all },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#children.add(child)
    const [told, logged] = [new Lines(child.stdout), new Lines(child.stderr)]
    const isReady = await Promise.race([told.untilReady(), once(child, 'exit').then(() => false)])
    if (!isReady) throw new Error(`${name} did not start:\n${told.text}${logged.text}`)
    const started: FleetProcess = {
      ...{ name, role: roleOf(name), port, environment: all, graceMs },
      get lines() {
        return [...told.parsed, ...logged.parsed]
      },
      kill: async (signal) => {
        this.processes.delete(name)
        return end(child, signal)
      },
    }
    this.processes.set(name, started)
    return started
  }
}

/** Sends the signal and waits for the end; answers the exit code, null when a signal ended it. */
async function end(child: ChildProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
  return child.exitCode
}

function roleOf(name: string): (typeof ROLES)[number] {
  const role = ROLES.find((each) => name.startsWith(`${each}-`))
  if (role === undefined) throw new Error(`${name} is neither an api process nor a worker`)
  return role
}

/** What a process prints on one of its streams. */
class Lines {
  text = ''
  #onNews = (): void => undefined

  constructor(stream: Readable) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      this.text += text
      this.#onNews()
    })
  }

  untilReady(): Promise<boolean> {
    return new Promise((resolve) => {
      this.#onNews = () => {
        if (this.text.includes('"msg":"ready"')) resolve(true)
      }
      this.#onNews()
    })
  }

  get parsed(): readonly unknown[] {
    const whole = this.text.split('\n').slice(0, -1)
    return whole.map((line): unknown => JSON.parse(line))
  }
}
