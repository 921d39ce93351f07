import { describe, expect, test } from 'vitest'
import { settled } from '../support/fake-clock.js'
import { chunk, progress, reasoning, toolInput } from '../support/sample-events.js'
import type { StreamedEvent } from '../../server/session/events.js'
import { brief, ONE, openWriter, THREE, TWO } from '../support/writer-world.js'

describe('when it writes', () => {
  test('a model that answers at once causes no append: its pieces ride in the commit', async () => {
    const { clock, store, stream } = openWriter()
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
    const { clock, store, stream } = openWriter()
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
    const { clock, store, stream } = openWriter()
    const streams = [stream(ONE), stream(TWO), stream(THREE)]
    for (const each of streams) each.emit(chunk('a', 0, 'x'))
    await clock.advance(0)
    for (const each of streams) each.emit(chunk('a', 1, 'y'))
    await clock.advance(20)
    expect(store.appends.map((batches) => batches.length)).toEqual([3, 3])
  })

  test('the beginning of one block does not break up what other sessions gather', async () => {
    const { clock, store, stream } = openWriter()
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

  test('the beginnings of many blocks do not hold up what other sessions gather', async () => {
    const { clock, store, stream } = openWriter()
    const [one, two] = [stream(ONE), stream(TWO)]
    one.emit(chunk('a', 0, 'x'))
    await clock.advance(0)
    one.emit(chunk('a', 1, 'y'))
    for (const block of ['b', 'c', 'd', 'e']) {
      two.emit(chunk(block, 0, 'z'))
      await clock.advance(5)
    }
    expect(store.log(ONE).map(brief)).toEqual(['a@0:x', 'a@1:y'])
  })

  test('what has piled up is written in appends of bounded size', async () => {
    const { clock, store, stream } = openWriter({ maxPendingBytes: 8 * 1024 * 1024 })
    const mebibytes = 'x'.repeat(1_800_000)
    for (const id of [ONE, TWO, THREE]) stream(id).emit(chunk('a', 0, mebibytes))
    await clock.advance(0)
    expect(store.appends.map((batches) => batches.map(({ lease }) => lease.sessionId))).toEqual([[ONE, TWO], [THREE]])
  })

  test('one append is in flight at a time; what comes meanwhile waits and is joined', async () => {
    const { clock, store, stream } = openWriter()
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
    const { clock, store, stream } = openWriter()
    stream()
    await clock.advance(60_000)
    expect(store.appends).toEqual([])
    expect(clock.pending).toBe(0)
  })
})

describe('what it writes', () => {
  test('only neighbouring pieces of one block and attempt are joined', async () => {
    const { stream } = openWriter()
    const one = stream()
    const emitted = [
      chunk('a', 0, 'x'),
      reasoning('a', 0, 'r'),
      reasoning('a', 1, 's'),
      chunk('b', 0, 'y'),
      chunk('b', 1, 'z'),
      chunk('b', 2, 'w', 2),
      chunk('b', 9, 'gap', 2),
      toolInput('t', 0, '{'),
      toolInput('t', 1, '}'),
    ]
    for (const event of emitted) one.emit(event)
    expect((await one.take()).map(brief)).toEqual(['a@0:x', 'a@0:rs', 'b@0:yz', 'b@2:w', 'b@9:gap', 't@0:{}'])
  })

  test("of a call's progress only the newest is kept", async () => {
    const { stream } = openWriter()
    const one = stream()
    for (const event of [progress('t', 1), progress('u', 1), progress('t', 2), progress('t', 3)]) one.emit(event)
    expect((await one.take()).map(brief)).toEqual(['u=1', 't=3'])
  })

  test('what was written is published, with its positions', async () => {
    const { clock, store, stream, published } = openWriter()
    stream().emit(chunk('a', 0, 'x'))
    await clock.advance(0)
    expect(published).toEqual(store.log(ONE))
    expect(published).toHaveLength(1)
  })

  test('subscribers that fail do not disturb the writing', async () => {
    const publish = () => {
      throw new Error('not my day')
    }
    const { clock, store, stream, warnings } = openWriter({ coordinator: { publish } })
    const one = stream()
    one.emit(chunk('a', 0, 'x'))
    await clock.advance(0)
    one.emit(chunk('a', 1, 'y'))
    await clock.advance(20)
    expect(store.log(ONE).map(brief)).toEqual(['a@0:x', 'a@1:y'])
    expect(warnings).toHaveLength(2)
  })
})

describe('take and resume', () => {
  test('take waits for the write in flight and hands over the rest', async () => {
    const { clock, store, stream } = openWriter()
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
    const { clock, store, stream } = openWriter()
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
    const { clock, store, stream } = openWriter()
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
    const { clock, store, stream } = openWriter()
    const one = stream()
    one.emit(chunk('a', 0, 'x'))
    const taken = await one.take()
    one.emit(chunk('a', 1, 'y'))
    one.resume(taken)
    await clock.advance(0)
    expect(store.log(ONE).map(brief)).toEqual(['a@0:xy'])
  })

  test('two takes at once do not hand over anything twice', async () => {
    const { stream } = openWriter()
    const one = stream()
    one.emit(chunk('a', 0, 'x'))
    const both = await Promise.all([one.take(), one.take()])
    expect(both.flat().map(brief)).toEqual(['a@0:x'])
  })
})

describe('back-pressure', () => {
  test('ready waits while too much is pending or in flight, and goes on when it is written', async () => {
    const { clock, store, stream } = openWriter({ maxPendingBytes: 4_096 })
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
    const { stream } = openWriter({ maxPendingBytes: 100 })
    const one = stream()
    one.emit(chunk('a', 0, 'x'.repeat(200)))
    const ready = one.ready()
    await one[how]()
    await ready
  })
})
