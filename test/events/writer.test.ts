import { describe, expect, test } from 'vitest'
import { createEventWriter } from '../../server/events/writer.js'
import type { RecordedEvent, StreamedEvent } from '../../server/session/events.js'
import { createFakeClock, settled } from '../support/fake-clock.js'
import { createLogStore, leaseOf, sessionNamed } from '../support/log-store.js'
import { chunk, progress, reasoning, toolInput } from '../support/sample-events.js'

const ONE = sessionNamed('one')
const TWO = sessionNamed('two')
const THREE = sessionNamed('three')

function open(options: { readonly maxPendingBytes?: number } = {}) {
  const clock = createFakeClock()
  const store = createLogStore()
  const published: RecordedEvent[] = []
  const warnings: string[] = []
  const fenced: string[] = []
  const log = { warn: (message: string) => warnings.push(message), error: (message: string) => warnings.push(message) }
  const coordinator = { publish: (_: unknown, events: readonly RecordedEvent[]) => published.push(...events) }
  const writer = createEventWriter({ store, coordinator, clock, ttlMs: 30_000, log, ...options })
  const stream = (sessionId = ONE, epoch = 1) =>
    writer.open(leaseOf(sessionId, epoch), { onFenced: () => fenced.push(`${sessionId}#${epoch}`) })
  return { clock, store, published, warnings, fenced, writer, stream }
}

/** What an event says, short. */
function brief(event: StreamedEvent | RecordedEvent): string {
  switch (event.type) {
    case 'LLM_CHUNK':
    case 'LLM_REASONING':
      return `${event.data.blockId.slice(4)}@${event.data.offset}:${event.data.text}`
    case 'LLM_TOOL_INPUT':
      return `${event.data.callId.slice(5)}@${event.data.offset}:${event.data.text}`
    case 'TOOL_CALL_PROGRESS':
      return `${event.data.callId.slice(5)}=${JSON.stringify(event.data.output)}`
    default:
      return event.type
  }
}

describe('when it writes', () => {
  test('a model that answers at once causes no append: its pieces ride in the commit', async () => {
    const { clock, store, stream } = open()
    const one = stream()
    one.emit(chunk('a', 0, 'Hel'))
    await Promise.resolve()
    one.emit(chunk('a', 3, 'lo'))
    const taken = await one.take()
    expect(taken.map(brief)).toEqual(['a@0:Hello'])
    await clock.advance(1_000)
    expect(store.appends).toEqual([])
  })

  test('the first piece of a block is written as soon as its macrotask is over, later ones 20 ms after that', async () => {
    const { clock, store, stream } = open()
    const one = stream()
    one.emit(chunk('a', 0, 'Hel'))
    await clock.advance(0)
    expect(store.log(ONE).map(brief)).toEqual(['a@0:Hel'])
    one.emit(chunk('a', 3, 'lo'))
    await clock.advance(19)
    expect(store.appends).toHaveLength(1)
    one.emit(chunk('a', 5, ' you'))
    await clock.advance(1)
    expect(store.log(ONE).map(brief)).toEqual(['a@0:Hel', 'a@3:lo you'])
  })

  test('a flush takes what is pending of all sessions, in one append', async () => {
    const { clock, store, stream } = open()
    const streams = [stream(ONE), stream(TWO), stream(THREE)]
    for (const each of streams) each.emit(chunk('a', 0, 'x'))
    await clock.advance(0)
    for (const each of streams) each.emit(chunk('a', 1, 'y'))
    await clock.advance(20)
    expect(store.appends.map((batches) => batches.length)).toEqual([3, 3])
  })

  test('the beginning of one block does not break up what other sessions gather', async () => {
    const { clock, store, stream } = open()
    const [one, two] = [stream(ONE), stream(TWO)]
    one.emit(chunk('a', 0, 'x'))
    await clock.advance(0)
    one.emit(chunk('a', 1, 'y'))
    two.emit(chunk('b', 0, 'z'))
    await clock.advance(5)
    expect(store.log(TWO).map(brief)).toEqual(['b@0:z'])
    expect(store.log(ONE).map(brief)).toEqual(['a@0:x'])
    one.emit(chunk('a', 2, 'z'))
    await clock.advance(15)
    expect(store.log(ONE).map(brief)).toEqual(['a@0:x', 'a@1:yz'])
  })

  test('one append is in flight at a time; what comes meanwhile waits and is joined', async () => {
    const { clock, store, stream } = open()
    const one = stream()
    const release = store.hold()
    one.emit(chunk('a', 0, 'a'))
    await clock.advance(0)
    for (let offset = 1; offset < 50; offset += 1) {
      one.emit(chunk('a', offset, 'a'))
      await clock.advance(20)
    }
    expect(store.appends).toHaveLength(1)
    release()
    await clock.advance(20)
    expect(store.log(ONE).map(brief)).toEqual(['a@0:a', `a@1:${'a'.repeat(49)}`])
  })

  test('nothing is asked of the database when nothing is emitted', async () => {
    const { clock, store, stream } = open()
    stream()
    await clock.advance(60_000)
    expect(store.appends).toEqual([])
    expect(clock.pending).toBe(0)
  })
})

describe('what it writes', () => {
  test('only neighbouring pieces of one block and attempt are joined', async () => {
    const { stream } = open()
    const one = stream()
    const emitted = [
      chunk('a', 0, 'x'),
      reasoning('a', 0, 'r'),
      reasoning('a', 1, 's'),
      chunk('b', 0, 'y'),
      chunk('b', 1, 'z'),
      chunk('b', 2, 'w', 2),
      toolInput('t', 0, '{'),
      toolInput('t', 1, '}'),
      chunk('b', 9, 'gap'),
    ]
    for (const event of emitted) one.emit(event)
    expect((await one.take()).map(brief)).toEqual(['a@0:x', 'a@0:rs', 'b@0:yz', 'b@2:w', 't@0:{}', 'b@9:gap'])
  })

  test("of a call's progress only the newest is kept", async () => {
    const { stream } = open()
    const one = stream()
    for (const event of [progress('t', 1), progress('u', 1), progress('t', 2), progress('t', 3)]) one.emit(event)
    expect((await one.take()).map(brief)).toEqual(['u=1', 't=3'])
  })

  test('what was written is published, with its positions', async () => {
    const { clock, store, stream, published } = open()
    stream().emit(chunk('a', 0, 'x'))
    await clock.advance(0)
    expect(published).toEqual(store.log(ONE))
    expect(published).toHaveLength(1)
  })

  test('subscribers that fail do not disturb the writing', async () => {
    const clock = createFakeClock()
    const store = createLogStore()
    const publish = () => {
      throw new Error('no')
    }
    const log = { warn: () => undefined, error: () => undefined }
    const writer = createEventWriter({ store, coordinator: { publish }, clock, ttlMs: 1, log })
    const one = writer.open(leaseOf(ONE), { onFenced: () => undefined })
    one.emit(chunk('a', 0, 'x'))
    await clock.advance(0)
    one.emit(chunk('a', 1, 'y'))
    await clock.advance(20)
    expect(store.log(ONE).map(brief)).toEqual(['a@0:x', 'a@1:y'])
  })
})

describe('take and resume', () => {
  test('take waits for the write in flight and hands over the rest', async () => {
    const { clock, store, stream } = open()
    const one = stream()
    const release = store.hold()
    one.emit(chunk('a', 0, 'x'))
    await clock.advance(0)
    one.emit(chunk('a', 1, 'y'))
    let taken: readonly StreamedEvent[] | null = null
    void one.take().then((rest) => (taken = rest))
    one.emit(chunk('a', 2, 'z'))
    await clock.advance(1_000)
    expect(taken).toBeNull()
    release()
    await settled()
    expect(taken).toEqual([chunk('a', 1, 'yz')])
    expect(store.log(ONE).map(brief)).toEqual(['a@0:x'])
  })

  test('what a write in flight could not write is handed over by take, in front', async () => {
    const { clock, store, stream } = open()
    const one = stream()
    store.answers.push({ [ONE]: 'busy' })
    const release = store.hold()
    one.emit(chunk('a', 0, 'x'))
    await clock.advance(0)
    one.emit(chunk('a', 1, 'y'))
    const taken = one.take()
    release()
    expect(await taken).toEqual([chunk('a', 0, 'xy')])
  })

  test('between take and resume nothing is written, and after it everything that gathered', async () => {
    const { clock, store, stream } = open()
    const one = stream()
    one.emit(progress('t', 1))
    await one.take()
    one.emit(progress('u', 1))
    one.emit(chunk('a', 0, 'x'))
    await clock.advance(1_000)
    expect(store.appends).toEqual([])
    one.resume([])
    await clock.advance(0)
    expect(store.log(ONE).map(brief)).toEqual(['u=1', 'a@0:x'])
  })

  test('what a refused commit did not write goes back in front', async () => {
    const { clock, store, stream } = open()
    const one = stream()
    one.emit(chunk('a', 0, 'x'))
    const taken = await one.take()
    one.emit(chunk('a', 1, 'y'))
    one.resume(taken)
    await clock.advance(0)
    expect(store.log(ONE).map(brief)).toEqual(['a@0:xy'])
  })

  test('two takes at once do not hand over anything twice', async () => {
    const { stream } = open()
    const one = stream()
    one.emit(chunk('a', 0, 'x'))
    const both = await Promise.all([one.take(), one.take()])
    expect(both.flat().map(brief)).toEqual(['a@0:x'])
  })
})

describe('back-pressure', () => {
  test('ready waits while too much is pending or in flight, and goes on when it is written', async () => {
    const { clock, store, stream } = open({ maxPendingBytes: 4_096 })
    const one = stream()
    let isReady = false
    await one.ready()
    const release = store.hold()
    one.emit(chunk('a', 0, 'x'.repeat(3_000)))
    await clock.advance(0)
    one.emit(chunk('a', 3_000, 'x'.repeat(3_000)))
    void one.ready().then(() => (isReady = true))
    await clock.advance(10_000)
    expect(isReady).toBe(false)
    release()
    await clock.advance(0)
    expect(isReady).toBe(true)
  })

  test.each(['take', 'close'] as const)('%s makes room at once', async (how) => {
    const { stream } = open({ maxPendingBytes: 100 })
    const one = stream()
    one.emit(chunk('a', 0, 'x'.repeat(200)))
    const ready = one.ready()
    await one[how]()
    await ready
  })
})

describe('what goes wrong', () => {
  test('a busy session keeps its events, joined and in order, for the next flush', async () => {
    const { clock, store, stream } = open()
    const one = stream()
    store.answers.push({ [ONE]: 'busy' })
    one.emit(chunk('a', 0, 'x'))
    await clock.advance(0)
    one.emit(chunk('a', 1, 'y'))
    await clock.advance(20)
    expect(store.log(ONE).map(brief)).toEqual(['a@0:xy'])
  })

  test('a fenced stream tells its owner once and writes nothing any more (R2)', async () => {
    const { clock, store, stream, fenced } = open()
    const one = stream()
    store.decide = () => ({ [ONE]: 'fenced' })
    one.emit(chunk('a', 0, 'x'))
    await clock.advance(0)
    one.emit(chunk('a', 1, 'y'))
    await clock.advance(1_000)
    expect(fenced).toEqual([`${ONE}#1`])
    expect(store.appends).toHaveLength(1)
    expect(await one.take()).toEqual([])
    expect(clock.pending).toBe(0)
  })

  test('a newer lease of a session fences off the stream of the older one (R2)', async () => {
    const { clock, store, stream, fenced } = open()
    const older = stream(ONE, 1)
    const newer = stream(ONE, 2)
    older.emit(chunk('a', 0, 'x'))
    newer.emit(chunk('b', 0, 'y'))
    stream(ONE, 1).emit(chunk('c', 0, 'z'))
    await clock.advance(20)
    expect(fenced).toEqual([`${ONE}#1`, `${ONE}#1`])
    expect(store.log(ONE).map(brief)).toEqual(['b@0:y'])
  })

  test('a closed stream drops what is pending, and what an append in flight could not write', async () => {
    const { clock, store, stream, fenced } = open()
    const [one, two] = [stream(ONE), stream(TWO)]
    store.answers.push({ [ONE]: 'busy', [TWO]: 'fenced' })
    const release = store.hold()
    one.emit(chunk('a', 0, 'x'))
    two.emit(chunk('a', 0, 'x'))
    await clock.advance(0)
    one.emit(chunk('a', 1, 'y'))
    one.close()
    two.close()
    one.emit(chunk('a', 2, 'z'))
    one.resume([chunk('a', 0, 'x')])
    release()
    await clock.advance(10_000)
    expect(store.appends).toHaveLength(1)
    expect(store.log(ONE)).toEqual([])
    expect(fenced).toEqual([])
  })

  test('when an append fails its sessions are written one by one, and only the one that fails backs off', async () => {
    const { clock, store, stream, warnings } = open()
    const streams = [stream(ONE), stream(TWO), stream(THREE)]
    store.decide = (batches) => (batches.some(({ lease }) => lease.sessionId === TWO) ? 'throw' : {})
    for (const each of streams) each.emit(chunk('a', 0, 'x'))
    await clock.advance(0)
    expect(store.log(ONE)).toHaveLength(1)
    expect(store.log(THREE)).toHaveLength(1)
    expect(warnings.length).toBeGreaterThan(0)
    for (const each of streams) each.emit(chunk('a', 1, 'y'))
    await clock.advance(20)
    expect(store.log(THREE).map(brief)).toEqual(['a@0:x', 'a@1:y'])
    store.decide = () => ({})
    await clock.advance(100)
    expect(store.log(TWO).map(brief)).toEqual(['a@0:xy'])
  })

  test('a session that the store does not answer for is tried again', async () => {
    const { clock, store, stream } = open()
    store.answers.push({ [ONE]: 'silent' })
    stream().emit(chunk('a', 0, 'x'))
    await clock.advance(100)
    expect(store.log(ONE).map(brief)).toEqual(['a@0:x'])
  })

  test('while the database is away attempts back off from 100 ms to 2 s, whatever the number of sessions', async () => {
    const { clock, store, writer, warnings } = open()
    store.decide = () => 'throw'
    const names = Array.from({ length: 50 }, (_, index) => sessionNamed(`s${index}`))
    for (const name of names) writer.open(leaseOf(name), { onFenced: () => undefined }).emit(chunk('a', 0, name))
    await clock.advance(60_000)
    expect(store.appends.length).toBeLessThan(45)
    expect(warnings.length).toBe(store.appends.length)
    store.decide = () => ({})
    await clock.advance(2_000)
    for (const name of names) expect(store.log(name).map(brief)).toEqual([`a@0:${name}`])
  })

  test('a take clears the way for a session that backs off', async () => {
    const { clock, store, stream } = open()
    const one = stream()
    store.answers.push('throw', 'throw')
    one.emit(chunk('a', 0, 'x'))
    await clock.advance(0)
    expect((await one.take()).map(brief)).toEqual(['a@0:x'])
    one.resume([])
    one.emit(chunk('b', 0, 'y'))
    await clock.advance(20)
    expect(store.log(ONE).map(brief)).toEqual(['b@0:y'])
  })
})

describe('drain', () => {
  test('writes at once what is pending and waits for it', async () => {
    const { clock, store, stream, writer } = open()
    const one = stream()
    one.emit(chunk('a', 0, 'x'))
    await clock.advance(0)
    one.emit(chunk('a', 1, 'y'))
    const drained = writer.drain()
    await clock.advance(0)
    await drained
    expect(store.log(ONE).map(brief)).toEqual(['a@0:x', 'a@1:y'])
  })

  test('does not wait for what the database refuses', async () => {
    const { clock, store, stream, writer } = open()
    store.decide = () => 'throw'
    stream().emit(chunk('a', 0, 'x'))
    const drained = writer.drain()
    await clock.advance(0)
    await drained
    expect(store.appends.length).toBeGreaterThan(0)
  })

  test('resolves when there is nothing to write', async () => {
    const { writer } = open()
    await writer.drain()
  })
})
