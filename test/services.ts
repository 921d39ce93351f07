/**
 * What the tests need beside Node. A machine without PostgreSQL runs every other test and is told which ones it left out; in CI its
 * absence fails the run, so that nothing is ever green because it did not run.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import pg from 'pg'

const DEFAULT_URL = 'postgresql://postgres@127.0.0.1:5432/postgres'
const CONNECT_TIMEOUT_MS = 3000
/** A file that mentions one of these opens a database on the server, and so does whatever imports it. */
const DEFINED_IN = 'test/support/databases.ts'
const NEEDS_POSTGRES = /\b(openTestPostgres|createTestDatabase|TEST_DATABASE_URL)\b/

/** Test files that cannot run here, relative to the repository. */
export async function findUnrunnable(root: string): Promise<readonly string[]> {
  const url = process.env['TEST_DATABASE_URL'] ?? DEFAULT_URL
  const fault = await findFault(url)
  if (fault === null) return []
  const message = `PostgreSQL does not answer at ${url} (${fault}).`
  if (process.env['CI'] !== undefined) throw new Error(message)
  const files = findUsers(readSources(root)).filter((path) => path.endsWith('.test.ts'))
  console.warn(
    `${message} Left out, until one runs there or TEST_DATABASE_URL names another:\n${files.map((file) => `  ${file}\n`).join('')}`,
  )
  return files
}

/** The TypeScript under test/, by path. */
function readSources(root: string): ReadonlyMap<string, string> {
  const names = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  const paths = names.filter((name) => name.endsWith('.ts')).map((name) => join('test', name))
  return new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]))
}

function findUsers(sources: ReadonlyMap<string, string>): readonly string[] {
  const users = new Set([...sources].filter(([path, text]) => path !== DEFINED_IN && NEEDS_POSTGRES.test(text)).map(([path]) => path))
  for (let before = -1; before !== users.size;) {
    before = users.size
    for (const [path, text] of sources) if (importsOf(path, text).some((imported) => users.has(imported))) users.add(path)
  }
  return [...users].sort()
}

function importsOf(path: string, text: string): readonly string[] {
  return [...text.matchAll(/ from '(\.[^']+)\.js'/g)].map(([, target = '']) => normalize(join(dirname(path), `${target}.ts`)))
}

async function findFault(connectionString: string): Promise<string | null> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
  try {
    await client.connect()
    await client.end()
    return null
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error)
  }
}
