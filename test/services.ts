/**
 * What the tests need beside Node. A machine without PostgreSQL runs every other test and is told which ones it left out; in CI its
 * absence fails the run, so that nothing is ever green because it did not run.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'

const DEFAULT_URL = 'postgresql://postgres@127.0.0.1:5432/postgres'
const CONNECT_TIMEOUT_MS = 3000
/** A test file that mentions one of these opens a database on the server (support/databases.ts). */
const NEEDS_POSTGRES = /\b(openTestPostgres|createTestDatabase|TEST_DATABASE_URL)\b/

/** Test files that cannot run here, relative to the repository. */
export async function findUnrunnable(root: string): Promise<readonly string[]> {
  const url = process.env['TEST_DATABASE_URL'] ?? DEFAULT_URL
  const fault = await findFault(url)
  if (fault === null) return []
  const message = `PostgreSQL does not answer at ${url} (${fault}).`
  if (process.env['CI'] !== undefined) throw new Error(message)
  const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts') && NEEDS_POSTGRES.test(readFileSync(join(root, 'test', name), 'utf8')))
    .map((name) => join('test', name))
  console.warn(
    `${message} Left out, until one runs there or TEST_DATABASE_URL names another:\n${files.map((file) => `  ${file}\n`).join('')}`,
  )
  return files
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
