/**
 * The environment, the `.env` file and the command line's flags, read once into one frozen value. Nothing else reads `process.env`.
 *
 * A flag wins over a variable, a variable over `.env`, `.env` over the default.
 */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { PerdureError } from './errors.js'

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]
export const ROLES = ['all', 'api', 'worker'] as const
export type Role = (typeof ROLES)[number]

export interface Config {
  /** Where the server listens: PERDURE_PORT, --port. 0 lets the system choose. Default 4000. */
  readonly port: number
  /** PERDURE_HOST, --host. Default 127.0.0.1: reachable from this machine only. */
  readonly host: string
  /** Absolute path of the folder of the embedded database: PERDURE_DATA_DIR, --data-dir. Default `.perdure` in the working directory. */
  readonly dataDir: string
  /** DATABASE_URL, a PostgreSQL URL. Null: the embedded database in `dataDir`. */
  readonly databaseUrl: string | null
  /** REDIS_URL, a Redis or Valkey URL: processes that share a database tell each other of news at once. Without DATABASE_URL it is not used. */
  readonly redisUrl: string | null
  /** What the names of keys and channels in Redis begin with: PERDURE_REDIS_PREFIX. Default `perdure`. */
  readonly redisPrefix: string
  /** PERDURE_ROLE, --role. `api` answers requests and drives nothing, `worker` drives and answers none. Default `all`: both. */
  readonly role: Role
  readonly openai: OpenAiConfig
  /** PERDURE_LOG_LEVEL, --log-level. Default `warn`. */
  readonly logLevel: LogLevel
  /** How many sessions this process drives at the same time: PERDURE_SLOTS. Default 16. */
  readonly slots: number
  /** Connections to PostgreSQL that this process opens at most: PERDURE_POOL_SIZE. Default 10. */
  readonly poolSize: number
  /** How long a session stays with a process that no longer renews its lease: PERDURE_LEASE_TTL_MS. Default 10 000. */
  readonly leaseTtlMs: number
  /** What running tools and model calls get to reach a commit when the process stops: PERDURE_DRAIN_MS. Default 10 000; 500 with the embedded database. */
  readonly drainMs: number
  /** Names the released version of the agents: PERDURE_DEPLOYMENT. Default `local`. */
  readonly deployment: string
  /** Only this machine can reach the server, and nobody has to sign in: GraphiQL is served and callers are trusted. */
  readonly development: boolean
}
export interface OpenAiConfig {
  /** OPENAI_API_KEY. Null: an agent without a model of its own gets the scripted, offline one. */
  readonly apiKey: string | null
  /** OPENAI_BASE_URL, for a compatible provider. Null: OpenAI's own. */
  readonly baseUrl: string | null
  /** OPENAI_MODEL, for agents that name none. Null: the default of the model client. */
  readonly model: string | null
}

export type Environment = Readonly<Record<string, string | undefined>>

/** The variables of this process, for whoever hands them on. */
export function readEnvironment(): Environment {
  return process.env
}

/** The command line's values, as written. */
export interface ConfigFlags {
  readonly port?: string | undefined
  readonly host?: string | undefined
  readonly dataDir?: string | undefined
  readonly logLevel?: string | undefined
  readonly role?: string | undefined
}
export interface LoadConfigOptions {
  readonly env?: Environment
  readonly flags?: ConfigFlags
  /** Where `.env` and relative paths are looked up. Default: the working directory. */
  readonly cwd?: string
  /** True when the application signs its callers in; then it is not in development, wherever it listens. */
  readonly authenticated?: boolean
}

/** Reads the configuration. A value that cannot be used is a PerdureError CONFIG_INVALID that names the variable, the value and the mend. */
export function loadConfig(options: LoadConfigOptions = {}): Config {
  const { flags = {}, cwd = process.cwd(), authenticated = false } = options
  const env = { ...readDotEnv(cwd), ...withoutUndefined(options.env ?? readEnvironment()) }
  const host = toHost(pick('--host', flags.host, 'PERDURE_HOST', env) ?? { name: 'PERDURE_HOST', value: '127.0.0.1' })
  const databaseUrl = toUrl(
    pickVariable('DATABASE_URL', env),
    ['postgres:', 'postgresql:'],
    'postgresql://user:password@localhost:5432/perdure',
  )
  const isEmbedded = databaseUrl === null
  return withRole({
    port: toWholeNumber(pick('--port', flags.port, 'PERDURE_PORT', env), { fallback: 4000, min: 0, max: 65_535 }),
    host,
    dataDir: resolve(cwd, pick('--data-dir', flags.dataDir, 'PERDURE_DATA_DIR', env)?.value ?? '.perdure'),
    databaseUrl,
    redisUrl: toUrl(pickVariable('REDIS_URL', env), ['redis:', 'rediss:'], 'redis://localhost:6379'),
    redisPrefix: toPrefix(pickVariable('PERDURE_REDIS_PREFIX', env)),
    role: toChoice(pick('--role', flags.role, 'PERDURE_ROLE', env), ROLES, { fallback: 'all', example: 'worker' }),
    openai: Object.freeze({
      apiKey: pickVariable('OPENAI_API_KEY', env)?.value ?? null,
      baseUrl: toUrl(pickVariable('OPENAI_BASE_URL', env), ['https:', 'http:'], 'https://api.openai.com/v1'),
      model: pickVariable('OPENAI_MODEL', env)?.value ?? null,
    }),
    logLevel: toChoice(pick('--log-level', flags.logLevel, 'PERDURE_LOG_LEVEL', env), LOG_LEVELS, { fallback: 'warn', example: 'info' }),
    slots: toWholeNumber(pickVariable('PERDURE_SLOTS', env), { fallback: 16, min: 1, max: 1024 }),
    poolSize: toWholeNumber(pickVariable('PERDURE_POOL_SIZE', env), { fallback: 10, min: 2, max: 1000 }),
    leaseTtlMs: toWholeNumber(pickVariable('PERDURE_LEASE_TTL_MS', env), { fallback: 10_000, min: 1000, max: 600_000 }),
    drainMs: toWholeNumber(pickVariable('PERDURE_DRAIN_MS', env), { fallback: isEmbedded ? 500 : 10_000, min: 0, max: 3_600_000 }),
    deployment: pickVariable('PERDURE_DEPLOYMENT', env)?.value ?? 'local',
    development: isLoopback(host) && !authenticated,
  })
}

/** How to talk to the terminal that started us. */
export interface TerminalSettings {
  /** NO_COLOR (no-color.org): set and not empty. */
  readonly noColor: boolean
  /** What a person types to start the server, up to its flags. */
  readonly startCommand: string
}
export function loadTerminalSettings(env: Environment): TerminalSettings {
  return {
    noColor: (env['NO_COLOR'] ?? '') !== '',
    startCommand: env['npm_lifecycle_event'] === 'start' ? 'npm start --' : 'perdure start',
  }
}

/** A value and where it came from, for the error text. */
interface Setting {
  readonly name: string
  readonly value: string
}

function pick(flag: string, flagValue: string | undefined, variable: string, env: Environment): Setting | undefined {
  return flagValue === undefined ? pickVariable(variable, env) : { name: flag, value: flagValue }
}

/** A variable that is set to nothing counts as not set, as shells and compose files make it. */
function pickVariable(name: string, env: Environment): Setting | undefined {
  const value = env[name]?.trim()
  return value === undefined || value === '' ? undefined : { name, value }
}

function toWholeNumber(
  setting: Setting | undefined,
  bounds: { readonly fallback: number; readonly min: number; readonly max: number },
): number {
  if (setting === undefined) return bounds.fallback
  const number = /^\d{1,9}$/.test(setting.value) ? Number(setting.value) : Number.NaN
  if (number >= bounds.min && number <= bounds.max) return number
  throw invalid(setting, `must be a whole number from ${String(bounds.min)} to ${String(bounds.max)}`, String(bounds.fallback))
}

function toChoice<Choice extends string>(
  setting: Setting | undefined,
  choices: readonly Choice[],
  { fallback, example }: { readonly fallback: Choice; readonly example: Choice },
): Choice {
  if (setting === undefined) return fallback
  const choice = choices.find((each) => each === setting.value.toLowerCase())
  if (choice !== undefined) return choice
  throw invalid(setting, `must be one of ${choices.join(', ')}`, example)
}

/** Braces would change what Redis Cluster keeps together. */
function toPrefix(setting: Setting | undefined): string {
  if (setting === undefined) return 'perdure'
  if (/^[\w.:-]{1,64}$/.test(setting.value)) return setting.value
  throw invalid(setting, 'must be 1 to 64 letters, digits or any of . : _ -', 'perdure')
}

/** Processes share the work through PostgreSQL and Redis, or there is one that does everything. */
function withRole(config: Config): Config {
  const { role, databaseUrl, redisUrl } = config
  if (role !== 'all' && (databaseUrl === null || redisUrl === null)) {
    const setting = { name: 'PERDURE_ROLE', value: role }
    throw invalid(setting, 'needs DATABASE_URL and REDIS_URL, where processes that share the work meet; one process alone is all', 'all')
  }
  return Object.freeze(config)
}

function toHost(setting: Setting): string {
  if (/^[\w.:-]+$/.test(setting.value)) return setting.value
  throw invalid(setting, 'must be a host name or an address, without scheme or path', '127.0.0.1')
}

function toUrl(setting: Setting | undefined, schemes: readonly string[], example: string): string | null {
  if (setting === undefined) return null
  const must = `must be a URL that begins with ${schemes.map((scheme) => `${scheme}//`).join(' or ')}`
  if (!URL.canParse(setting.value)) throw invalid({ ...setting, value: withoutCredentials(setting.value) }, must, example)
  const url = new URL(setting.value)
  if (!schemes.includes(url.protocol)) throw invalid({ ...setting, value: withoutCredentials(setting.value) }, must, example)
  return setting.value
}

/** A URL as it may be shown: the password is left out. */
export function withoutCredentials(url: string): string {
  return url.replace(/(\/\/[^/:@]*):.*@/, '$1:***@')
}

function invalid(setting: Setting, must: string, example: string): PerdureError {
  const shown = setting.name.startsWith('--') ? `${setting.name} ${example}` : `${setting.name}=${example}`
  return new PerdureError('CONFIG_INVALID', `${setting.name} is "${setting.value}"; it ${must}.`, { hint: shown })
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}

function readDotEnv(cwd: string): Environment {
  const path = join(cwd, '.env')
  try {
    return parseEnv(readFileSync(path, 'utf8'))
  } catch (error) {
    if (isMissing(error)) return {}
    throw new PerdureError('CONFIG_INVALID', `${path} cannot be read.`, { hint: `chmod u+r ${path}`, cause: error })
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

function withoutUndefined(env: Environment): Record<string, string> {
  return Object.fromEntries(Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
}
