/** A part of the bench in a process of its own, so that its work is not on the event loop that is measured: TypeScript, spoken to over IPC. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { z } from 'zod'

const TSX = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href

export interface Child<Order> {
  send(order: Order): void
  /** Kills it and waits for its end. Repeating it does nothing. */
  stop(): Promise<void>
}
export interface ChildOptions<Report> {
  /** Beside this file. */
  readonly file: `./${string}.ts`
  readonly reports: z.ZodType<Report>
  readonly onReport: (report: Report) => void
  /** It ended without being told to. */
  readonly onLost: (reason: Error) => void
}

export function startChild<Order extends object, Report>({ file, reports, onReport, onLost }: ChildOptions<Report>): Child<Order> {
  const path = fileURLToPath(new URL(file, import.meta.url))
  const child = fork(path, { execArgv: ['--import', TSX, '--conditions=source'], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const ended = once(child, 'exit')
  let stopped = false
  child.on('message', (message) => onReport(reports.parse(message)))
  child.once('exit', (code, signal) => {
    if (!stopped) onLost(new Error(`${file} ended with ${signal ?? String(code)}`))
  })
  return {
    send: (order) => void child.send(order),
    async stop() {
      stopped = true
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await ended
    },
  }
}
