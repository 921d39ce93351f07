/**
 * What the tests need beside Node. A machine without one of these runs every other test and is told which ones it left out; in CI its
 * absence fails the run, so that nothing is ever green because it did not run.
 */
import { execFile } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import pg from 'pg'
import { findPrograms } from './support/postgres-server.js'

const CONNECT_TIMEOUT_MS = 10_000
const POSTGRES_URL = process.env['TEST_DATABASE_URL'] ?? 'postgresql://postgres@127.0.0.1:5432/postgres'
const REDIS_URL = process.env['TEST_REDIS_URL'] ?? 'redis://127.0.0.1:6379'
const run = promisify(execFile)

interface Service {
  /** A sentence that says that it is not there. */
  readonly missing: string
  /** The file through which tests use it. A file that mentions one of these names needs it, and so does whatever imports that. */
  readonly definedIn: string
  readonly names: RegExp
  /** What has to be done so that it is there. */
  readonly mend: string
  /** Fails when it is not there. */
  ask(): Promise<unknown>
}

const SERVICES: readonly Service[] = [
  {
    missing: `PostgreSQL does not answer at ${POSTGRES_URL}`,
    definedIn: 'test/support/databases.ts',
    names: /\b(openTestPostgres|createTestDatabase|TEST_DATABASE_URL)\b/,
    mend: 'one runs there or TEST_DATABASE_URL names another',
    ask: askPostgres,
  },
  {
    missing: `Redis does not answer at ${REDIS_URL}`,
    definedIn: 'test/support/redis.ts',
    names: /\b(TEST_REDIS_URL|withRedis|removeKeys)\b/,
    mend: 'one runs there or TEST_REDIS_URL names another',
    ask: askRedis,
  },
  {
    missing: 'the programs redis-server and redis-cli are not there',
    definedIn: 'test/support/redis-server.ts',
    names: /\b(startRedisServer|startRedisCluster)\b/,
    mend: 'they are on the path: some tests kill a Redis of their own',
    ask: () => Promise.all(['redis-server', 'redis-cli'].map((name) => run(name, ['--version']))),
  },
  {
    missing: 'the programs of a PostgreSQL server are not there',
    definedIn: 'test/support/postgres-server.ts',
    names: /\bstartPostgresServer\b/,
    mend: 'initdb and postgres are on the path, or where Debian puts them: some tests restart a PostgreSQL of their own',
    ask: async () => run(join(await findPrograms(), 'initdb'), ['--version']),
  },
]

/** Test files that cannot run here, relative to the repository. */
export async function findUnrunnable(root: string): Promise<readonly string[]> {
  const missing = await Promise.all(SERVICES.map((service) => findMissing(service, root)))
  return [...new Set(missing.flat())].sort()
}

/** The tests that have to do without this service; none when it is there. */
async function findMissing({ missing, definedIn, names, mend, ask }: Service, root: string): Promise<readonly string[]> {
  const fault = await ask().then(() => null, explain)
  if (fault === null) return []
  const message = `${missing} (${fault}).`
  if (process.env['CI'] !== undefined) throw new Error(message)
  const files = findUsers(readSources(root), { definedIn, names }).filter((path) => path.endsWith('.test.ts'))
  if (files.length > 0) console.warn(`${message} Left out, until ${mend}:\n${files.map((file) => `  ${file}\n`).join('')}`)
  return files
}

/** The TypeScript under test/, by path. */
function readSources(root: string): ReadonlyMap<string, string> {
  const names = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  const paths = names.filter((name) => name.endsWith('.ts')).map((name) => join('test', name))
  return new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]))
}

function findUsers(sources: ReadonlyMap<string, string>, { definedIn, names }: Pick<Service, 'definedIn' | 'names'>): readonly string[] {
  const itself = [definedIn, 'test/services.ts']
  const users = new Set([...sources].filter(([path, text]) => !itself.includes(path) && names.test(text)).map(([path]) => path))
  for (let before = -1; before !== users.size;) {
    before = users.size
    for (const [path, text] of sources) if (importsOf(path, text).some((imported) => users.has(imported))) users.add(path)
  }
  return [...users].sort()
}

function importsOf(path: string, text: string): readonly string[] {
  return [...text.matchAll(/ from '(\.[^']+)\.js'/g)].map(([, target = '']) => normalize(join(dirname(path), `${target}.ts`)))
}

async function askPostgres(): Promise<void> {
  const client = new pg.Client({ connectionString: POSTGRES_URL, connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
  await client.connect()
  await client.end()
}

async function askRedis(): Promise<void> {
  const client = new Redis(REDIS_URL, { lazyConnect: true, connectTimeout: CONNECT_TIMEOUT_MS, retryStrategy: () => null })
  const faults: Error[] = []
  client.on('error', (error: Error) => faults.push(error))
  try {
    await client.connect()
    await client.ping()
  } catch (thrown) {
    // What was thrown says that there is no connection, the first fault says why.
    const [fault = new Error('it does not answer', { cause: thrown })] = faults
    throw fault
  } finally {
    client.disconnect()
  }
}

function explain(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
