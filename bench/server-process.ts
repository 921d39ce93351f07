/** The built server (dist/main.js) as a process of its own, at a place of the bench. */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { z } from 'zod'
import { systemClock } from '../server/clock.js'
import type { Role } from '../server/config.js'
import type { Cleanup } from './cleanup.js'
import type { Place } from './place.js'

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url))
const AGENTS = fileURLToPath(new URL('served-agents.ts', import.meta.url))
const Banner = z.object({ pid: z.number(), graphql: z.string().nullish() })

export interface ServerProcess {
  /** Of its GraphQL endpoint; null: it is a worker. */
  readonly url: URL | null
  readonly pid: number
  /** From its start to its first line, which it writes when it is ready. */
  readonly startMs: number
  /** Mebibytes of memory that it has in use. */
  resident(): Promise<number>
  /** Ends it with SIGKILL and waits for that. Repeating it does nothing. */
  kill(): Promise<void>
}
export interface ServerProcessOptions {
  readonly place: Place
  readonly role: Role
  /** Default: the server's. */
  readonly leaseTtlMs?: number
  /** Of the model of agent `echo`. */
  readonly modelUrl?: string
  /** Hears what it logs. */
  readonly warn: (message: string) => void
}

/** Resolves once it is ready. `cleanup` is told at once how to end it. */
export async function startServerProcess(options: ServerProcessOptions, cleanup: Cleanup): Promise<ServerProcess> {
  const { place, role, leaseTtlMs, modelUrl, warn } = options
  const started = systemClock.monotonic()
  const child = spawn(process.execPath, [MAIN, 'start', AGENTS, '--port', '0', '--json'], {
    cwd: tmpdir(),
    env: {
      PATH: process.env['PATH'],
      ...place.env,
      PERDURE_ROLE: role,
      ...(leaseTtlMs !== undefined && { PERDURE_LEASE_TTL_MS: String(leaseTtlMs) }),
      ...(modelUrl !== undefined && { PERDURE_BENCH_MODEL: modelUrl }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString()
    warn(`${role}: ${chunk.toString().trim()}`)
  })
  const ended = once(child, 'exit')
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await ended
  }
  cleanup(kill)
  const banner = await Promise.race([firstLine(child), ended.then(() => null)])
  if (banner === null) throw new Error(`a server did not start: ${errors}`)
  const { pid, graphql } = Banner.parse(JSON.parse(banner))
  return {
    url: graphql == null ? null : new URL(graphql),
    pid,
    startMs: systemClock.monotonic() - started,
    resident: () => residentOf(pid),
    kill,
  }
}

async function firstLine({ stdout }: ChildProcess): Promise<string> {
  let text = ''
  stdout?.setEncoding('utf8')
  for await (const chunk of stdout ?? []) {
    text += String(chunk)
    if (text.includes('\n')) break
  }
  return text
}

async function residentOf(pid: number): Promise<number> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)])
  return Number(stdout.trim()) / 1024
}
