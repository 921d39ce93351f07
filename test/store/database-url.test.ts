import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../server/clock.js'
import { PerdureError } from '../../server/errors.js'
import { explainConnection, maskPassword, parseDatabaseUrl } from '../../server/store/database-url.js'
import { openStore } from '../../server/store/open.js'
import { MIGRATIONS, createTestDatabase } from '../support/databases.js'

function open(databaseUrl: string, migrationsDir = MIGRATIONS): Promise<unknown> {
  return openStore({ databaseUrl, dataDir: '', migrationsDir, clock: systemClock })
}

async function faultOf(work: Promise<unknown>): Promise<PerdureError> {
  const thrown: unknown = await work.then(
    () => null,
    (error: unknown) => error,
  )
  if (!(thrown instanceof PerdureError)) throw new Error(`no PerdureError was thrown but ${String(thrown)}`)
  return thrown
}

const ELSE =
  'start it, or unset DATABASE_URL to use the embedded store; or something else than Postgres listens there: check host and port in DATABASE_URL'

describe('a DATABASE_URL that is wrong is told at the start, in one sentence with the mend', () => {
  it.each(['nonsense', 'mysql://root@db/app', 'postgres://'])('%s is no address of a database', async (url) => {
    const fault = await faultOf(open(url))
    expect([fault.code, fault.message]).toEqual(['DATABASE_URL_INVALID', 'DATABASE_URL is not the address of a PostgreSQL database.'])
    expect(fault.hint).toContain('unset DATABASE_URL')
  })

  it.each([
    ['postgresql://postgres@host:5432', 'postgresql://postgres@host:5432/perdure'],
    ['postgres://db:5432/', 'postgres://db:5432/perdure'],
    ['postgres://app:s3cret@db?sslmode=require', 'postgres://app:***@db/perdure?sslmode=require'],
  ])('%s lacks the name of a database', async (url, written) => {
    const fault = await faultOf(open(url))
    expect(fault).toMatchObject({
      code: 'DATABASE_URL_INVALID',
      message: `DATABASE_URL is ${url.replace('s3cret', '***')}; the name of the database is missing in it.`,
      hint: `write it behind the host: DATABASE_URL=${written}, or unset DATABASE_URL to use the embedded store`,
    })
  })

  it('something else than Postgres listens', async () => {
    const { server, port } = await listenOnFreePort((socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')))
    const fault = await faultOf(open(`postgres://app@127.0.0.1:${port}/db`))
    server.close()
    expect(fault.code).toBe('DATABASE_UNREACHABLE')
    expect(fault.hint).toBe(ELSE)
  })

  it('whoever listens does not answer in time', () => {
    const fault = explainConnection(new URL('postgres://app@db/app'), new Error('timeout expired'))
    expect(fault).toMatchObject({ message: "Can't reach Postgres at postgres://app@db/app (timed out).", hint: ELSE })
  })

  it('nobody listens', async () => {
    const port = await freePort()
    const fault = await faultOf(open(`postgres://app:s3cret@127.0.0.1:${port}/db`))
    expect(fault.code).toBe('DATABASE_UNREACHABLE')
    expect(fault.message).toBe(`Can't reach Postgres at postgres://app:***@127.0.0.1:${port}/db (ECONNREFUSED).`)
    expect(fault.hint).toBe('start it, or unset DATABASE_URL to use the embedded store')
  })

  it('no such host', async () => {
    const fault = await faultOf(open('postgres://app@no-such-host.invalid/db'))
    expect(fault.message).toMatch(/^Can't reach Postgres at postgres:\/\/app@no-such-host\.invalid\/db \((ENOTFOUND|EAI_AGAIN)\)\.$/)
  })

  it('no such database', async () => {
    const { url, drop } = await createTestDatabase()
    await drop()
    const fault = await faultOf(open(url))
    expect(fault.code).toBe('DATABASE_UNKNOWN')
    expect(fault.hint).toContain(`createdb ${new URL(url).pathname.slice(1)}`)
  })

  it('a user that the server refuses', async () => {
    const { url, drop } = await createTestDatabase()
    const other = new URL(url)
    other.username = 'nobody-here'
    other.password = 's3cret'
    const fault = await faultOf(open(other.href))
    await drop()
    expect(fault.code).toBe('DATABASE_AUTH_FAILED')
    expect(fault.message).toContain('nobody-here')
    expect(`${fault.message} ${fault.hint}`).not.toContain('s3cret')
  })

  it('a wrong password', () => {
    const refused = Object.assign(new Error('password authentication failed for user "app"'), { code: '28P01' })
    expect(explainConnection(new URL('postgres://app:s3cret@db/app'), refused)).toMatchObject({
      code: 'DATABASE_AUTH_FAILED',
      message: 'Postgres at postgres://app:***@db/app refused the user app (password authentication failed for user "app").',
    })
  })

  it('a schema of its own, as Prisma URLs may have', async () => {
    const fault = await faultOf(open('postgres://app@db/app?schema=mine'))
    expect(fault.message).toContain('schema mine')
    expect(parseDatabaseUrl('postgres://app@db/app?schema=public').pathname).toBe('/app')
  })
})

it('the password is never shown, wherever it stands', () => {
  expect(maskPassword(new URL('postgres://app:s3cret@db/app?password=s3cret&sslmode=require'))).not.toContain('s3cret')
  expect(maskPassword(new URL('postgres://app@db/app'))).toBe('postgres://app@db/app')
})

it('migrations that are not there are named', async () => {
  const { url, drop } = await createTestDatabase()
  const missing = join(await mkdtemp(join(tmpdir(), 'perdure-')), 'none')
  const fault = await faultOf(open(url, missing))
  await drop()
  expect(fault.message).toContain(missing)
})

async function freePort(): Promise<number> {
  const { server, port } = await listenOnFreePort(() => undefined)
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function listenOnFreePort(onSocket: (socket: Socket) => void): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer(onSocket)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, port: (server.address() as AddressInfo).port }
}
