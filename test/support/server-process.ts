/** The built server as a process of its own, to be killed and frozen. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

export interface ServerProcessOptions {
  /** A file or folder with agents. */
  readonly agents: string
  readonly port: number
  readonly env: Readonly<Record<string, string>>
  /** The temporary folder of the test; also the working directory, so that no `.env` is read. */
  readonly cwd: string
}
export interface ServerProcess {
  /** Of its GraphQL endpoint. A worker has the port, and no such endpoint there. */
  readonly url: string
  readonly port: number
  readonly pid: number
  /** What it wrote to stderr. */
  log(): string
  /** Sends the signal and waits for the end; answers the exit code, null when the signal ended it. */
  kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null>
  /** Stops it in the middle of whatever it does (SIGSTOP), until `thaw`. */
  freeze(): void
  thaw(): void
}

/** Resolves once it answers. */
export async function startServerProcess({ agents, port, env, cwd }: ServerProcessOptions): Promise<ServerProcess> {
  const child = spawn(process.execPath, [MAIN, 'start', agents, '--port', String(port), '--json'], {
    cwd,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  const isReady = await Promise.race([printsBanner(child), once(child, 'exit').then(() => false)])
  if (!isReady || child.pid === undefined) throw new Error(`the server did not start:\n${errors}`)
  const { pid } = child
  return {
    url: `http://127.0.0.1:${port}/graphql`,
    port,
    pid,
    log: () => errors,
    async kill(signal) {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
      const ended = once(child, 'exit')
      child.kill(signal)
      await ended
      return child.exitCode
    },
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
  }
}

/** True with the first line, which is a banner; false when the process ends without one. */
async function printsBanner(child: ChildProcess): Promise<boolean> {
  let text = ''
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk)
    if (text.includes('\n')) break
  }
  child.stdout?.resume()
  if (text === '') return false
  const parsed: unknown = JSON.parse(text)
  if (typeof parsed === 'object' && parsed !== null && 'pid' in parsed) return true
  throw new Error(`not a banner: ${text}`)
}

/** A port that was free a moment ago. */
export async function findFreePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  server.close()
  await once(server, 'close')
  return port
}
