import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock, type Clock } from '../../server/clock.js'
import type { Role } from '../../server/config.js'
import { run } from '../../server/cli/run.js'
import type { OpenServer, Program } from '../../server/cli/program.js'

/** A process without a terminal: what it printed, and the switches that a person has. */
export interface FakeProcess {
  readonly program: Program
  readonly printed: { out: string; err: string }
  /** Resolves once `out` holds this. */
  printedOut(part: string): Promise<void>
  signal(name: string): void
  readonly hardExits: number[]
  readonly listeners: Map<string, Set<() => void>>
}

export function fakeProcess(overrides: Partial<Program> = {}): FakeProcess {
  const printed = { out: '', err: '' }
  const waiting = new Set<() => void>()
  const listeners = new Map<string, Set<() => void>>()
  const hardExits: number[] = []
  const program: Program = {
    version: '1.2.3',
    nodeVersion: '20.19.0',
    cwd: '/nowhere',
    env: {},
    terminal: {
      color: false,
      out: (text) => {
        printed.out += text
        for (const check of waiting) check()
      },
      err: (text) => (printed.err += text),
    },
    clock: systemClock,
    startedAt: 0,
    signals: {
      on: (name, listener) => listeners.set(name, (listeners.get(name) ?? new Set()).add(listener)),
      off: (name, listener) => listeners.get(name)?.delete(listener),
    },
    exit: (code) => hardExits.push(code),
    open: () => Promise.reject(new Error('not opened in this test')),
    migrate: () => Promise.reject(new Error('not migrated in this test')),
    inspect: () => Promise.reject(new Error('not inspected in this test')),
    ...overrides,
  }
  return {
    program,
    printed,
    hardExits,
    listeners,
    signal: (name) => listeners.get(name)?.forEach((listener) => listener()),
    printedOut: (part) =>
      new Promise((resolve) => {
        const check = () => {
          if (printed.out.includes(part)) resolve()
        }
        waiting.add(check)
        check()
      }),
  }
}

export function runLine(line: string, program: Program): Promise<number> {
  return run(line === '' ? [] : line.split(' '), program)
}

/** A clock whose time the test moves. */
export function manualClock(): Clock & { advance(ms: number): void } {
  let now = 0
  const timers = new Map<() => void, number>()
  return {
    now: () => now,
    monotonic: () => now,
    after: (delayMs, callback) => {
      timers.set(callback, now + delayMs)
      return () => timers.delete(callback)
    },
    advance: (ms) => {
      now += ms
      for (const [callback, due] of [...timers]) {
        if (due <= now && timers.delete(callback)) callback()
      }
    },
  }
}

/** Listens for real, on any free port unless told, and answers every request, or those for the paths in `answers` and 500 for others. */
export function tinyServer(
  options: { port?: number; status?: number; stop?: () => Promise<void>; role?: Role; redis?: string; answers?: readonly string[] } = {},
): OpenServer & { readonly stops: number } {
  const answered = ({ url }: IncomingMessage): boolean => options.answers?.includes(url ?? '') ?? true
  const http: Server = createServer((request, response) => response.writeHead(answered(request) ? (options.status ?? 200) : 500).end('{}'))
  let stops = 0
  return {
    info: {
      agents: ['hello', 'clerk'],
      models: ['scripted'],
      role: options.role ?? 'all',
      redis: options.redis ?? null,
      storage: { kind: 'embedded', location: '/nowhere/.perdure/data', sessions: 3, recovered: 1 },
    },
    get stops() {
      return stops
    },
    listen: () =>
      new Promise((resolve, reject) => {
        http.once('error', reject)
        http.listen(options.port ?? 0, '127.0.0.1', () => {
          resolve({ url: `http://127.0.0.1:${String(portOf(http))}` })
        })
      }),
    stop: async () => {
      stops += 1
      await options.stop?.()
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}

export function portOf(server: { address(): AddressInfo | string | null }): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server does not listen on a port')
  return address.port
}
