/**
 * Reads server-sent events from bytes, as the HTML standard has them (section 9.2): UTF-8 cut anywhere, lines ended by LF, CR or CRLF,
 * comments, data of several lines, an optional space after the colon.
 *
 * Each byte is looked at once, however long a line is and however it was cut. An event over the cap is refused, so that a broken
 * server cannot fill the memory.
 */
export interface ServerEvent {
  /** The value of the `event` field; '' when there is none. */
  readonly name: string
  readonly data: string
}

/** In UTF-16 code units. */
const MAX_EVENT_LENGTH = 64 * 1024 * 1024

export class EventDecoder {
  readonly #decoder = new TextDecoder()
  readonly #maxLength: number
  #line = ''
  #data: string | null = null
  #name = ''
  #skipLineFeed = false

  constructor(maxLength: number = MAX_EVENT_LENGTH) {
    this.#maxLength = maxLength
  }

  /** The events that these bytes complete. Throws when one is over the cap. */
  push(bytes: Uint8Array): ServerEvent[] {
    return this.#read(this.#decoder.decode(bytes, { stream: true }))
  }

  /** To be called at the end of the stream: an event whose closing blank line is missing counts all the same. */
  end(): ServerEvent[] {
    return this.#read(`${this.#decoder.decode()}\n\n`)
  }

  #read(text: string): ServerEvent[] {
    const events: ServerEvent[] = []
    let start = this.#skipLineFeed && text.startsWith('\n') ? 1 : 0
    if (text !== '') this.#skipLineFeed = false
    let carriage = text.indexOf('\r', start)
    for (let end = nearest(text.indexOf('\n', start), carriage); end !== -1; end = nearest(text.indexOf('\n', start), carriage)) {
      this.#endLine(this.#line + text.slice(start, end), events)
      this.#line = ''
      start = end + 1
      if (end !== carriage) continue
      if (start === text.length) this.#skipLineFeed = true
      else if (text[start] === '\n') start += 1
      carriage = text.indexOf('\r', start)
    }
    this.#line += text.slice(start)
    this.#checkLength()
    return events
  }

  #endLine(line: string, events: ServerEvent[]): void {
    if (line === '') {
      if (this.#data !== null) events.push({ name: this.#name, data: this.#data })
      this.#data = null
      this.#name = ''
      return
    }
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'data') this.#data = this.#data === null ? value : `${this.#data}\n${value}`
    else if (field === 'event') this.#name = value
  }

  #checkLength(): void {
    const length = this.#line.length + (this.#data?.length ?? 0)
    if (length > this.#maxLength) throw new Error(`an event of the stream is longer than ${this.#maxLength} characters`)
  }
}

function nearest(one: number, other: number): number {
  if (one === -1) return other
  return other === -1 ? one : Math.min(one, other)
}
