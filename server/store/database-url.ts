/** DATABASE_URL: read once, never printed with its password, and every way it can be wrong told in one sentence with the mend. */
import { PerdureError, toMessage } from '../errors.js'
import { sqlState } from './database.js'

const UNSET = 'or unset DATABASE_URL to use the embedded store'
const UNREACHABLE = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOENT'])

/** Refuses what is not an address of a PostgreSQL database. */
export function parseDatabaseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !['postgres:', 'postgresql:'].includes(url.protocol) || (url.host === '' && namesNoDatabase(url))) {
    throw new PerdureError('DATABASE_URL_INVALID', 'DATABASE_URL is not the address of a PostgreSQL database.', {
      hint: `DATABASE_URL=postgresql://user:password@host:5432/database, ${UNSET}`,
    })
  }
  if (namesNoDatabase(url)) {
    const example = new URL(url)
    example.pathname = '/perdure'
    throw new PerdureError('DATABASE_URL_INVALID', `DATABASE_URL is ${maskPassword(url)}; the name of the database is missing in it.`, {
      hint: `write it behind the host: DATABASE_URL=${maskPassword(example)}, ${UNSET}`,
    })
  }
  const schema = url.searchParams.get('schema')
  if (schema !== null && schema !== 'public') {
    throw new PerdureError('DATABASE_URL_INVALID', `DATABASE_URL names the schema ${schema}; Perdure keeps its tables in public.`, {
      hint: `leave ?schema=${schema} out of DATABASE_URL; give Perdure a database of its own`,
    })
  }
  return url
}

function namesNoDatabase({ pathname }: URL): boolean {
  return pathname.length < 2
}

export function maskPassword(url: URL): string {
  const masked = new URL(url)
  if (masked.password !== '') masked.password = '***'
  if (masked.searchParams.has('password')) masked.searchParams.set('password', '***')
  return masked.href
}

/** Why the first connection failed. */
export function explainConnection(url: URL, thrown: unknown): PerdureError {
  const at = maskPassword(url)
  const code = sqlState(thrown)
  const database = decodeURIComponent(url.pathname.slice(1))
  if (UNREACHABLE.has(code) || isTimeout(thrown)) {
    // Somebody took the connection, and did not answer as Postgres does.
    const mayBeAnother = code === '' || code === 'ECONNRESET'
    return new PerdureError('DATABASE_UNREACHABLE', `Can't reach Postgres at ${at} (${code === '' ? 'timed out' : code}).`, {
      hint: `start it, ${UNSET}${mayBeAnother ? '; or something else than Postgres listens there: check host and port in DATABASE_URL' : ''}`,
      cause: thrown,
    })
  }
  if (code === '28P01' || code === '28000') {
    return new PerdureError(
      'DATABASE_AUTH_FAILED',
      `Postgres at ${at} refused the user ${decodeURIComponent(url.username)} (${toMessage(thrown)}).`,
      {
        hint: `correct the user or the password in DATABASE_URL, ${UNSET}`,
        cause: thrown,
      },
    )
  }
  if (code === '3D000') {
    return new PerdureError('DATABASE_UNKNOWN', `Postgres at ${at} has no database ${database}.`, {
      hint: `createdb ${database}, ${UNSET}`,
      cause: thrown,
    })
  }
  return new PerdureError('DATABASE_UNREACHABLE', `Postgres at ${at} can't be used: ${toMessage(thrown)}.`, {
    hint: `correct DATABASE_URL, ${UNSET}`,
    cause: thrown,
  })
}

function isTimeout(thrown: unknown): boolean {
  return sqlState(thrown) === '' && /timeout|terminated/i.test(toMessage(thrown))
}
