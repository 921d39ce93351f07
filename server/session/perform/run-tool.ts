/**
 * One effect: the author's code of one call, run once. Whatever it does, the answer is a ToolEnded that can be stored. Its start was
 * committed before (R3); ending it is for settle/.
 *
 * - A value that comes back counts, also after an abort: what took effect is told. Only what throws then is CANCELLED.
 * - A tool that passes its time limit is told through its signal and not waited for.
 * - Aborting `context.signal` is not waited for here: who aborts decides how long to wait (cancelGraceMs).
 */
import type { Clock } from '../../clock.js'
import { PerdureError, type Failure, type Json } from '../../errors.js'
import type { CallId } from '../../ids.js'
import type { CallResult } from '../commit.js'
import type { ToolEnded } from '../outcomes.js'
import type { ToolContext, ToolPort } from '../agent-port.js'
import { createProgress } from './progress.js'
import { shorten } from './shorten.js'
import { isInstance, readMessage, toJson } from './to-json.js'

export const MAX_OUTPUT_BYTES = 256 * 1024
const MAX_MESSAGE_BYTES = 8 * 1024

export interface ToolRun {
  readonly tool: ToolPort
  readonly call: { readonly id: CallId; readonly input: Json }
  readonly context: ToolContext
  readonly clock: Clock
  /** Called with each partial output, at most 16 KiB of JSON; not after the answer. */
  readonly progress: (output: Json) => void
}

type Ended =
  | { readonly status: 'COMPLETED'; readonly output: Json; readonly text: string; readonly truncatedBytes: number }
  | { readonly status: 'FAILED'; readonly failure: Failure }
  | { readonly status: 'CANCELLED'; readonly text: string }

const NEVER_BEGAN: Ended = { status: 'CANCELLED', text: 'This call was cancelled before it began; it had no effect.' }
const STOPPED: Ended = { status: 'CANCELLED', text: 'This call was cancelled before it finished; it may have taken effect.' }

/** Never throws. The code has run when this answers, unless the tool passed its own time limit and ignores its signal. */
export async function runTool(run: ToolRun): Promise<ToolEnded> {
  const { context, clock } = run
  const ended = context.signal.aborted ? NEVER_BEGAN : await runWithin(run)
  return { kind: 'tool-ended', callId: run.call.id, status: ended.status, result: toResult(ended, clock.now()) }
}

async function runWithin(run: ToolRun): Promise<Ended> {
  const { tool, context, clock } = run
  const limit = startLimit(run)
  const progress = createProgress({
    clock,
    emit: run.progress,
    warn: (message) => {
      context.log.warn(`tool ${tool.name}: ${message}`)
    },
  })
  try {
    return await Promise.race([attempt(run, limit.signal, progress.report), limit.passed])
  } finally {
    progress.close()
    limit.stop()
  }
}

async function attempt(run: ToolRun, signal: AbortSignal, report: (output: unknown) => void): Promise<Ended> {
  const { tool, call, context } = run
  try {
    return keep(tool, await tool.run(call.input, { ...context, signal }, report))
  } catch (thrown) {
    return context.signal.aborted ? STOPPED : { status: 'FAILED', failure: toToolFailure(thrown) }
  }
}

function keep(tool: ToolPort, value: unknown): Ended {
  const converted = toJson(value)
  if (converted.ok) return { status: 'COMPLETED', ...shorten(converted.value, MAX_OUTPUT_BYTES) }
  const where = converted.path === '' ? 'the result' : `${converted.path} of the result`
  const message = `${tool.name} ran, but its result cannot be kept: ${where} ${converted.problem}`
  return { status: 'FAILED', failure: { code: 'TOOL_OUTPUT_INVALID', message: capMessage(message), retryable: false } }
}

/** The message for the model and for people; never a stack. */
function toToolFailure(thrown: unknown): Failure {
  const code = isInstance(thrown, PerdureError) && isOwnCode(thrown.code) ? thrown.code : 'TOOL_FAILED'
  return { code, message: capMessage(readMessage(thrown) + readCause(thrown)), retryable: false }
}

/** What a tool's own schemas refuse (ToolPort.run). */
function isOwnCode(code: string): boolean {
  return code === 'TOOL_INPUT_INVALID' || code === 'TOOL_OUTPUT_INVALID'
}

/** `fetch failed` alone helps nobody: the cause says what failed. */
function readCause(thrown: unknown): string {
  try {
    return thrown instanceof Error && thrown.cause instanceof Error ? ` (${readMessage(thrown.cause)})` : ''
  } catch {
    return ''
  }
}

function capMessage(message: string): string {
  return shorten(message, MAX_MESSAGE_BYTES).text
}

interface Limit {
  readonly signal: AbortSignal
  /** Never settles while the tool is within its limit. */
  readonly passed: Promise<Ended>
  stop(): void
}

/** The signal that the tool gets: the caller's, which also aborts when the tool's own time is over. */
function startLimit({ tool, context, clock }: ToolRun): Limit {
  const { timeoutMs } = tool
  if (timeoutMs === undefined) return { signal: context.signal, passed: new Promise(() => undefined), stop: () => undefined }
  const controller = new AbortController()
  const { promise: passed, resolve } = withResolvers<Ended>()
  const follow = (): void => {
    controller.abort(context.signal.reason)
  }
  context.signal.addEventListener('abort', follow, { once: true })
  const cancelTimer = clock.after(timeoutMs, () => {
    resolve(context.signal.aborted ? STOPPED : { status: 'FAILED', failure: toTimeout(tool.name, timeoutMs) })
    controller.abort(new PerdureError('TOOL_TIMEOUT', `tool ${tool.name} passed its limit of ${String(timeoutMs)} ms`))
  })
  return {
    signal: controller.signal,
    passed,
    stop: () => {
      cancelTimer()
      context.signal.removeEventListener('abort', follow)
    },
  }
}

function toTimeout(name: string, timeoutMs: number): Failure {
  return {
    code: 'TOOL_TIMEOUT',
    message: `${name} did not finish within ${String(timeoutMs)} ms; it may have taken effect`,
    retryable: true,
  }
}

function withResolvers<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined
  const promise = new Promise<T>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

function toResult(ended: Ended, endedAt: number): CallResult {
  switch (ended.status) {
    case 'COMPLETED':
      return { output: ended.output, text: ended.text, error: null, truncatedBytes: ended.truncatedBytes, endedAt }
    case 'FAILED':
      return { output: null, text: ended.failure.message, error: ended.failure, truncatedBytes: 0, endedAt }
    case 'CANCELLED':
      return { output: null, text: ended.text, error: null, truncatedBytes: 0, endedAt }
  }
}
