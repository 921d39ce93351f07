/** Cuts what is too large to keep to its head and tail, with one notice between them. */
import type { Json } from '../../errors.js'

export interface Shortened {
  /** As it came, or, when it was cut, a text: the string, or the JSON, with its middle left out. */
  readonly output: Json
  /** What the model reads: a string as it is, anything else as JSON. */
  readonly text: string
  /** Bytes (UTF-8) that were left out; 0: none. */
  readonly truncatedBytes: number
}

/** Keeps the JSON text of `output` within `maxBytes`, the notice included. Never cuts a character in two. */
export function shorten(output: Json, maxBytes: number): Shortened {
  const text = typeof output === 'string' ? output : JSON.stringify(output)
  if (jsonBytes(output) <= maxBytes) return { output, text, truncatedBytes: 0 }
  const bytes = Buffer.from(text, 'utf8')
  let keep = maxBytes
  for (;;) {
    const cut = cutMiddle(bytes, keep)
    const size = jsonBytes(cut.text)
    if (size <= maxBytes || keep === 0) return { output: cut.text, text: cut.text, truncatedBytes: cut.left }
    // As JSON the text is longer (quotes, line ends are escaped): aim again by how much.
    keep = Math.max(0, Math.min(keep - 1, Math.floor(keep * (maxBytes / size)) - 32))
  }
}

function jsonBytes(value: Json): number {
  return Buffer.byteLength(JSON.stringify(value), 'utf8')
}

function cutMiddle(bytes: Buffer, keep: number): { readonly text: string; readonly left: number } {
  const head = charStart(bytes, Math.min(Math.ceil(keep / 2), bytes.length), -1)
  const tail = Math.max(head, charStart(bytes, bytes.length - Math.floor(keep / 2), 1))
  const left = tail - head
  const notice = left === 0 ? '' : `\n[… ${String(left)} of ${String(bytes.length)} bytes left out here: too long to keep …]\n`
  return { text: bytes.toString('utf8', 0, head) + notice + bytes.toString('utf8', tail), left }
}

/** The nearest start of a character from `index` on, going by `step`. */
function charStart(bytes: Buffer, index: number, step: 1 | -1): number {
  let at = index
  while (at > 0 && at < bytes.length && ((bytes[at] ?? 0) & 0xc0) === 0x80) at += step
  return at
}
