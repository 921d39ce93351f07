/**
 * Server processes that share a database and a Redis, and a folder where their agents leave traces. Whatever the test does to them,
 * `remove` leaves none behind.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient, type Client } from '../../sdk/index.js'
import { findFreePort, startServerProcess, type ServerProcess } from './server-process.js'

export interface DeploymentOptions {
  /** A file or folder with agents. They find the folder in PERDURE_TEST_FOLDER. */
  readonly agents: string
  /** Null: the embedded one, in the folder. */
  readonly databaseUrl: string | null
  readonly redis: { readonly url: string; readonly prefix: string } | null
  readonly leaseTtlMs: number
}
export interface StartOptions {
  readonly role?: 'all' | 'api' | 'worker'
  /** Default: a free one. */
  readonly port?: number
  readonly env?: Readonly<Record<string, string>>
}

export class Deployment {
  readonly folder: string
  readonly #options: DeploymentOptions
  readonly #processes: ServerProcess[] = []

  private constructor(folder: string, options: DeploymentOptions) {
    this.folder = folder
    this.#options = options
  }

  static async create(options: DeploymentOptions): Promise<Deployment> {
    return new Deployment(await mkdtemp(join(tmpdir(), 'perdure-deployment-')), options)
  }

  get dataDir(): string {
    return join(this.folder, 'data')
  }

  /** Resolves once it answers. */
  async start({ role = 'all', port, env = {} }: StartOptions = {}): Promise<ServerProcess> {
    const { agents, databaseUrl, redis, leaseTtlMs } = this.#options
    const process = await startServerProcess({
      agents,
      port: port ?? (await findFreePort()),
      cwd: this.folder,
      env: {
        PERDURE_TEST_FOLDER: this.folder,
        PERDURE_DATA_DIR: this.dataDir,
        PERDURE_ROLE: role,
        PERDURE_LEASE_TTL_MS: String(leaseTtlMs),
        ...(databaseUrl === null ? {} : { DATABASE_URL: databaseUrl }),
        ...(redis === null ? {} : { REDIS_URL: redis.url, PERDURE_REDIS_PREFIX: redis.prefix }),
        ...env,
      },
    })
    this.#processes.push(process)
    return process
  }

  startTwo(role: NonNullable<StartOptions['role']>): Promise<readonly [ServerProcess, ServerProcess]> {
    return Promise.all([this.start({ role }), this.start({ role })])
  }

  client(process: ServerProcess): Client {
    return createClient({ url: process.url })
  }

  async remove(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.kill('SIGKILL')))
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
