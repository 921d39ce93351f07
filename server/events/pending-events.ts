/**
 * The streamed events of one session that are not written yet, in the order they were emitted and as few as they can be:
 *
 * - neighbouring pieces of one block (or of one call's arguments) are one piece, with the offset of the first;
 * - of a call's progress only the newest is kept, at its own place in the order.
 *
 * No text is ever lost or reordered here; that holds also for what is put back in front after a write that did not happen.
 */
import type { CallId } from '../ids.js'
import type { StreamedEvent } from '../session/events.js'

type Progress = Extract<StreamedEvent, { readonly type: 'TOOL_CALL_PROGRESS' }>
type Piece = Exclude<StreamedEvent, Progress>

interface Entry {
  readonly event: StreamedEvent
  /** The joined text of a piece. */
  text: string
}

/** What one event costs beside its text, roughly: envelope, ids, bookkeeping. */
const ENVELOPE_BYTES = 256
/** The cap that whoever emits progress keeps to; charged in full, as measuring would cost more than it tells. */
const PROGRESS_BYTES = 16 * 1024

export class PendingEvents {
  #entries = new Set<Entry>()
  #progress = new Map<CallId, Entry>()
  #last: Entry | null = null
  #bytes = 0

  /** An estimate of the memory held, from above for text in one-byte characters. */
  get bytes(): number {
    return this.#bytes
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0
  }

  add(event: StreamedEvent): void {
    if (event.type === 'TOOL_CALL_PROGRESS') this.#addProgress(event)
    else this.#addPiece(event)
  }

  #addPiece(piece: Piece): void {
    const { text } = piece.data
    const last = this.#last
    this.#bytes += text.length
    if (last !== null && continues(last, piece)) {
      last.text += text
      return
    }
    this.#append({ event: piece, text })
  }

  #addProgress(progress: Progress): void {
    const { callId } = progress.data
    const older = this.#progress.get(callId)
    if (older !== undefined) {
      this.#entries.delete(older)
      this.#bytes -= ENVELOPE_BYTES + PROGRESS_BYTES
    }
    const entry = { event: progress, text: '' }
    this.#progress.set(callId, entry)
    this.#bytes += PROGRESS_BYTES
    this.#append(entry)
  }

  #append(entry: Entry): void {
    this.#entries.add(entry)
    this.#last = entry
    this.#bytes += ENVELOPE_BYTES
  }

  /** Hands everything over, in order; nothing is left. */
  takeAll(): readonly StreamedEvent[] {
    const events = Array.from(this.#entries, toEvent)
    this.clear()
    return events
  }

  /** Puts what `takeAll` gave back in front of what came since. */
  putBack(events: readonly StreamedEvent[]): void {
    if (events.length === 0) return
    const since = this.takeAll()
    for (const event of events) this.add(event)
    for (const event of since) this.add(event)
  }

  clear(): void {
    this.#entries = new Set()
    this.#progress = new Map()
    this.#last = null
    this.#bytes = 0
  }
}

function continues(last: Entry, piece: Piece): boolean {
  const { event } = last
  return (
    event.type !== 'TOOL_CALL_PROGRESS' &&
    event.type === piece.type &&
    idOf(event) === idOf(piece) &&
    event.attempt === piece.attempt &&
    event.data.offset + last.text.length === piece.data.offset
  )
}

function idOf(piece: Piece): string {
  return piece.type === 'LLM_TOOL_INPUT' ? piece.data.callId : piece.data.blockId
}

function toEvent({ event, text }: Entry): StreamedEvent {
  switch (event.type) {
    case 'TOOL_CALL_PROGRESS':
      return event
    case 'LLM_CHUNK':
    case 'LLM_REASONING':
      return event.data.text === text ? event : { ...event, data: { ...event.data, text } }
    case 'LLM_TOOL_INPUT':
      return event.data.text === text ? event : { ...event, data: { ...event.data, text } }
  }
}
