/** A service that a test runs as a process of its own, since it will kill it: started until it says that it is ready, stopped for good. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'

export interface ServiceCommand {
  readonly command: string
  readonly args: readonly string[]
  /** What it prints once it takes connections. */
  readonly readyWhen: RegExp
  /** The user to run as, where it refuses to run as root. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined
}

export interface ChildService {
  /** Sends the signal and waits for the end. Without effect when it runs no more. */
  kill(signal: NodeJS.Signals): Promise<void>
}

/** Resolves once it is ready; rejects with what it printed when it ends before. */
export async function startChildService({ command, args, readyWhen, user }: ServiceCommand): Promise<ChildService> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...user })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  try {
    await untilReady(child, readyWhen)
  } catch (thrown) {
    child.kill('SIGKILL')
    throw thrown
  }
  return {
    async kill(signal) {
      child.kill(signal)
      await ended
    },
  }
}

async function untilReady(child: ChildProcess, readyWhen: RegExp): Promise<void> {
  let printed = ''
  const isReady = new Promise<void>((resolve) => {
    for (const output of [child.stdout, child.stderr]) {
      output?.on('data', (chunk: Buffer) => {
        if (printed.length < 10_000) printed += chunk.toString()
        if (readyWhen.test(printed)) resolve()
      })
    }
  })
  const isGone = once(child, 'close').then(() => {
    throw new Error(`${child.spawnfile} ended before it was ready:\n${printed}`)
  })
  await Promise.race([isReady, isGone])
  isGone.catch(() => undefined)
}
