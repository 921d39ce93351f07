/**
 * Reads `text/event-stream` (WHATWG HTML, section 9.2.6) from bytes: lines end in LF, CR or CRLF, also when cut between chunks;
 * comments are skipped; several `data` lines make one value; UTF-8 may be cut anywhere; an event that the end of the
 * stream cuts off is dropped. It differs in one point: an event that has a name and no data is given, since the `complete`
 * event of GraphQL over SSE has none.
 */
export interface SseEvent {
  readonly event: string
  readonly data: string
}

/** No single event may grow beyond this, in UTF-16 code units. */
export const MAX_EVENT_LENGTH = 16 * 1024 * 1024

export interface SseParser {
  /** The events that are complete with this piece of text. Throws RangeError when one is longer than allowed. */
  feed(text: string): readonly SseEvent[]
}

export function createSseParser(maxLength = MAX_EVENT_LENGTH): SseParser {
  let line = ''
  let event = ''
  let data: string[] = []
  let length = 0
  let endedInCr = false

  function take(whole: string, into: SseEvent[]): void {
    if (whole === '') {
      if (event !== '' || data.length > 0) into.push({ event: event === '' ? 'message' : event, data: data.join('\n') })
      event = ''
      data = []
      length = 0
      return
    }
    const colon = whole.indexOf(':')
    const field = colon === -1 ? whole : whole.slice(0, colon)
    const rest = colon === -1 ? '' : whole.slice(colon + 1)
    const value = rest.startsWith(' ') ? rest.slice(1) : rest
    if (field === 'event') event = value
    if (field !== 'data') return
    data.push(value)
    length += value.length
  }

  return {
    feed(piece) {
      // The LF of a CRLF that was cut in two.
      const text = endedInCr && piece.startsWith('\n') ? piece.slice(1) : piece
      if (piece !== '') endedInCr = piece.endsWith('\r')
      const events: SseEvent[] = []
      let start = 0
      for (const end of text.matchAll(/\r\n|\n|\r/g)) {
        take(line + text.slice(start, end.index), events)
        line = ''
        start = end.index + end[0].length
      }
      line += text.slice(start)
      if (line.length + length > maxLength) {
        throw new RangeError(`an event of the stream is longer than ${maxLength} characters`)
      }
      return events
    },
  }
}

export interface SseOptions {
  /** The longest silence, in milliseconds, comments included, while somebody waits for the next event. */
  readonly idleTimeoutMs: number
  /** Called when the silence was too long; what it returns is thrown. */
  onIdle(): Error
}

/** The events of a response. Reads only when the next one is asked for; gives the connection up when the consumer stops. */
export async function* readSse(body: ReadableStream<Uint8Array>, options: SseOptions): AsyncGenerator<SseEvent, void, undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  const parser = createSseParser()
  try {
    for (;;) {
      const piece = await withinIdle(reader.read(), options)
      if (piece.done) return
      yield* parser.feed(decoder.decode(piece.value, { stream: true }))
    }
  } finally {
    // Not awaited: a stalled peer must not hold up whoever stopped listening. A body that has failed already is closed.
    reader.cancel().catch(() => undefined)
  }
}

/** The result of `work`, or the idle error when it takes too long. */
export function withinIdle<Value>(work: Promise<Value>, options: SseOptions): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(options.onIdle()), options.idleTimeoutMs)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
