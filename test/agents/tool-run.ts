/** Runs one tool as a worker does, on a clock that a test moves. */
import { storedId } from '../../server/ids.js'
import type { Clock } from '../../server/clock.js'
import { defineTool } from '../../server/agents/define-tool.js'
import type { Tool, ToolOptions } from '../../server/agents/tool.js'
import type { Json } from '../../server/errors.js'
import type { ToolContext, ToolPort } from '../../server/session/agent-port.js'
import type { Log } from '../../server/session/ports.js'
import type { ToolEnded } from '../../server/session/outcomes.js'
import { runTool } from '../../server/session/perform/run-tool.js'
import type { JsonObject } from '../../server/session/perform/to-json.js'

const CALL = storedId('call', 'call_0123')
export const NOW = 1_700_000_000_000

export interface ManualClock extends Clock {
  /** Moves time and calls what is due, in order. */
  advance(ms: number): void
  /** Timers that wait. */
  readonly pending: () => number
}

export function createManualClock(): ManualClock {
  let elapsed = 0
  let timers: { readonly at: number; readonly callback: () => void }[] = []
  return {
    now: () => NOW + elapsed,
    monotonic: () => elapsed,
    after: (delayMs, callback) => {
      const timer = { at: elapsed + delayMs, callback }
      timers.push(timer)
      return () => {
        timers = timers.filter((other) => other !== timer)
      }
    },
    advance: (ms) => {
      elapsed += ms
      const due = timers.filter((timer) => timer.at <= elapsed).sort((one, other) => one.at - other.at)
      timers = timers.filter((timer) => timer.at > elapsed)
      for (const timer of due) timer.callback()
    },
    pending: () => timers.length,
  }
}

export function createContext(signal: AbortSignal, warnings: string[] = []): ToolContext {
  const log: Log = {
    debug: () => undefined,
    info: () => undefined,
    warn: (message) => warnings.push(message),
    error: () => undefined,
    with: () => log,
  }
  const person = { tenant: 'default', id: 'ada', kind: 'USER' as const }
  return {
    session: { id: storedId('ses', 'ses_1'), agent: 'support', title: null, metadata: {}, owner: person },
    turn: { id: storedId('turn', 'turn_1'), number: 1 },
    callId: CALL,
    signal,
    principal: person,
    log,
    memo: async (_, compute) => compute(),
    state: { get: async ({ initial }) => initial, set: async () => undefined },
  }
}

export function toPort(tool: Tool, name = 'work'): ToolPort {
  return { ...tool.compile(`tool "${name}"`), name }
}

/** A tool without arguments that does this. */
export function toolOf(
  execute: ToolOptions<JsonObject, unknown, unknown>['execute'],
  rest: Partial<ToolOptions<JsonObject, unknown, unknown>> = {},
): ToolPort {
  return toPort(defineTool({ description: 'Works.', input: { type: 'object' }, execute, ...rest }))
}

export interface Running {
  readonly ended: Promise<ToolEnded>
  readonly clock: ManualClock
  readonly progress: readonly Json[]
  readonly warnings: readonly string[]
  abort(): void
}

export function start(tool: ToolPort, input: Json = {}): Running {
  const controller = new AbortController()
  const clock = createManualClock()
  const progress: Json[] = []
  const warnings: string[] = []
  const context = createContext(controller.signal, warnings)
  const ended = runTool({ tool, call: { id: CALL, input }, context, clock, progress: (output) => progress.push(output) })
  return {
    ended,
    clock,
    progress,
    warnings,
    abort: () => {
      controller.abort(new Error('cancelled'))
    },
  }
}

/** A promise and its key. */
export function createGate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}
