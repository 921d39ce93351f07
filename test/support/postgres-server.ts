/**
 * A PostgreSQL of a test's own, to be stopped and started again in the middle of things. Small and quick to make, but durable: what it
 * acknowledged is on disk, as of a real one.
 */
import { execFile } from 'node:child_process'
import { chown, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startChildService, type ChildService } from './child-service.js'
import { findFreePort } from './server-process.js'

const run = promisify(execFile)
/** Where Debian and its relatives put each version; elsewhere the programs are on the path. */
const VERSIONS = '/usr/lib/postgresql'
/** How the server is told to stop: sessions are broken off and it shuts down in order, or it just ends and recovers at its start. */
const STOP = { fast: 'SIGINT', immediate: 'SIGQUIT' } as const

export interface PostgresServer {
  readonly url: string
  stop(how: keyof typeof STOP): Promise<void>
  /** Starts it again at the same port; resolves once it takes connections. Without effect when it runs. */
  start(): Promise<void>
  close(): Promise<void>
}

export async function startPostgresServer(): Promise<PostgresServer> {
  const port = await findFreePort()
  const bin = await findPrograms()
  const user = await findUser()
  const folder = await mkdtemp(join(tmpdir(), 'perdure-postgres-'))
  if (user !== undefined) await chown(folder, user.uid, user.gid)
  const data = join(folder, 'data')
  await run(join(bin, 'initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale', 'C', '--no-sync'], { ...user })
  const settings = ['port=' + String(port), 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'shared_buffers=32MB', 'fsync=on']
  const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])]
  let running: ChildService | null = null
  const server: PostgresServer = {
    url: `postgresql://postgres@127.0.0.1:${port}/postgres`,
    async stop(how) {
      await running?.kill(STOP[how])
      running = null
    },
    async start() {
      running ??= await startChildService({ command: join(bin, 'postgres'), args, readyWhen: /ready to accept connections/, user })
    },
    async close() {
      await server.stop('immediate')
      await rm(folder, { recursive: true, force: true })
    },
  }
  await server.start()
  return server
}

/** The folder with the programs of the newest version; empty when they are on the path. */
export async function findPrograms(): Promise<string> {
  const versions = await readdir(VERSIONS).catch(() => [])
  const newest = versions.sort((a, b) => Number(b) - Number(a))[0]
  return newest === undefined ? '' : join(VERSIONS, newest, 'bin')
}

/** PostgreSQL refuses to run as root. */
async function findUser(): Promise<{ readonly uid: number; readonly gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const [uid, gid] = await Promise.all(['-u', '-g'].map(async (what) => Number((await run('id', [what, 'postgres'])).stdout)))
  return { uid: uid ?? 0, gid: gid ?? 0 }
}
