/**
 * Partial outputs of one running tool. A value is held until the tool goes on: it is emitted when another one comes or when the
 * tool has not ended within the same tick. So the last one is not said twice, as progress and as the result.
 */
import type { Clock } from '../../clock.js'
import type { Json } from '../../errors.js'
import { shorten } from './shorten.js'
import { toJson } from './to-json.js'

export const MAX_PROGRESS_BYTES = 16 * 1024

export interface Progress {
  /** Takes a copy. Never throws; what is no JSON is refused with a warning. */
  readonly report: (output: unknown) => void
  /** Drops what is held and ignores what comes later. */
  close(): void
}
export interface ProgressSink {
  readonly clock: Clock
  emit(output: Json): void
  warn(message: string): void
}

export function createProgress(sink: ProgressSink): Progress {
  let held: { readonly output: Json } | null = null
  let cancelTimer: (() => void) | null = null
  let closed = false

  const flush = (): void => {
    cancelTimer?.()
    cancelTimer = null
    const ready = held
    held = null
    if (ready !== null) sink.emit(ready.output)
  }

  return {
    report(output) {
      if (closed) return
      flush()
      const converted = toJson(output)
      if (!converted.ok) {
        sink.warn(`progress was not shown: ${converted.path === '' ? 'it' : converted.path} ${converted.problem}`)
        return
      }
      held = { output: shorten(converted.value, MAX_PROGRESS_BYTES).output }
      cancelTimer = sink.clock.after(0, flush)
    },
    close() {
      closed = true
      held = null
      cancelTimer?.()
      cancelTimer = null
    },
  }
}
