/**
 * The audience: opens its subscriptions, counts what comes, and tells when everybody has got as much. Bare sockets, and no parsing of what
 * comes: it must never be what a measurement waits for.
 */
import { connect, type Socket } from 'node:net'
import { z } from 'zod'
import type { AudienceOrder, AudienceReport } from './audience.js'

const Order = z.object({
  url: z.string(),
  bodies: z.array(z.string()),
  subscribers: z.number(),
  live: z.string(),
  mark: z.string(),
}) satisfies z.ZodType<AudienceOrder>
/** Connections that are opened at once. */
const WAVE = 50

// Whoever asked is gone.
process.once('disconnect', () => process.exit())
process.on('message', (message) => void open(Order.parse(message)))

function report(message: AudienceReport): void {
  process.send?.(message)
}

async function open({ url, bodies, subscribers, live, mark }: AudienceOrder): Promise<void> {
  const requests = bodies.flatMap((body) => Array.from({ length: subscribers }, () => toRequest(new URL(url), body)))
  const tally = createTally(requests.length)
  for (let begun = 0; begun < requests.length; begun += WAVE) {
    const wave = requests.slice(begun, begun + WAVE)
    await Promise.all(
      wave.map((request, index) => subscribe({ url: new URL(url), request, live, mark, tally, isFirst: begun + index === 0 })),
    )
  }
  report({ kind: 'live' })
}

function toRequest({ host, pathname }: URL, body: string): string {
  const headers = [
    `POST ${pathname} HTTP/1.1`,
    `host: ${host}`,
    'accept: text/event-stream',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ]
  return `${headers.join('\r\n')}\r\n\r\n${body}`
}

interface Tally {
  /** One subscriber has got its so-manieth mark. */
  mark(count: number): void
  bytes: number
  sample: string
}

function createTally(subscribers: number): Tally {
  const reached: number[] = []
  const tally: Tally = {
    bytes: 0,
    sample: '',
    mark(count) {
      const those = (reached[count] ?? 0) + 1
      reached[count] = those
      if (those < subscribers) return
      report({ kind: 'heard', marks: count, bytes: tally.bytes, sample: tally.sample })
      tally.sample = ''
    },
  }
  return tally
}

interface Subscription {
  readonly url: URL
  readonly request: string
  readonly live: string
  readonly mark: string
  readonly tally: Tally
  /** What it gets is the sample. */
  readonly isFirst: boolean
}

/** Resolves once it is live. */
function subscribe({ url, request, live, mark, tally, isFirst }: Subscription): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true })
    socket.write(request)
    let beginning = ''
    const count = createCounter(mark, (marks) => tally.mark(marks))
    const onBeginning = (bytes: Buffer): void => {
      beginning += bytes.toString('latin1')
      if (!beginning.includes(live)) return
      socket.off('data', onBeginning)
      socket.on('data', (more: Buffer) => {
        tally.bytes += more.length
        if (isFirst) tally.sample += more.toString('latin1')
        count(more)
      })
      resolve()
    }
    socket.on('data', onBeginning)
    endWith(socket)
  })
}

/** Calls back for each occurrence, also of one that was cut. */
function createCounter(mark: string, onMark: (count: number) => void): (bytes: Buffer) => void {
  const wanted = Buffer.from(mark)
  let rest: Buffer = Buffer.alloc(0)
  let count = 0
  return (bytes) => {
    const all = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
    let from = 0
    for (let at = all.indexOf(wanted); at !== -1; at = all.indexOf(wanted, from)) {
      from = at + wanted.length
      onMark((count += 1))
    }
    rest = all.subarray(Math.max(from, all.length - wanted.length + 1))
  }
}

/** A stream that ends makes the measurement wrong: it must not go on. */
function endWith(socket: Socket): void {
  socket.on('error', () => process.exit(1))
  socket.on('close', () => process.exit(1))
}
