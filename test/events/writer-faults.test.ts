import { describe, expect, test } from 'vitest'
import { leaseOf, sessionNamed } from '../support/log-store.js'
import { chunk } from '../support/sample-events.js'
import { brief, ONE, openWriter, THREE, TWO } from '../support/writer-world.js'

describe('what goes wrong', () => {
  test('a busy session keeps its events, joined and in order, for the next flush', async () => {
    const { clock, store, stream } = openWriter()
    const one = stream()
    store.answers.push({ [ONE]: 'busy' })
    one.emit(chunk('a', 0, 'x'))
    await clock.advance(0)
    one.emit(chunk('a', 1, 'y'))
    await clock.advance(20)
    expect(store.log(ONE).map(brief)).toEqual(['a@0:xy'])
  })

  test('a fenced stream tells its owner once and writes nothing any more (R2)', async () => {
    const { clock, store, stream, fenced } = openWriter()
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
    const { clock, store, stream, fenced } = openWriter()
    const older = stream(ONE, 1)
    const newer = stream(ONE, 2)
    older.emit(chunk('a', 0, 'x'))
    newer.emit(chunk('b', 0, 'y'))
    stream(ONE, 1).emit(chunk('c', 0, 'z'))
    await clock.advance(20)
    expect(fenced).toEqual([`${ONE}#1`, `${ONE}#1`])
    expect(store.log(ONE).map(brief)).toEqual(['b@0:y'])
  })

  test('an answer for a stream that was closed does not touch the one that was opened after it', async () => {
    const { clock, store, stream, fenced } = openWriter()
    store.answers.push({ [ONE]: 'fenced' })
    const release = store.hold()
    const older = stream(ONE, 1)
    older.emit(chunk('a', 0, 'x'))
    await clock.advance(0)
    older.close()
    stream(ONE, 2).emit(chunk('b', 0, 'y'))
    release()
    await clock.advance(20)
    expect(fenced).toEqual([])
    expect(store.log(ONE).map(brief)).toEqual(['b@0:y'])
  })

  test('a closed stream drops what is pending, and what an append in flight could not write', async () => {
    const { clock, store, stream, fenced } = openWriter()
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
    expect(await one.take()).toEqual([])
    expect(fenced).toEqual([])
  })

  test('when an append fails its sessions are written one by one, and only the one that fails backs off', async () => {
    const { clock, store, stream, warnings } = openWriter()
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
    expect(store.appends.at(-1)).toHaveLength(2)
    store.decide = () => ({})
    await clock.advance(100)
    expect(store.log(TWO).map(brief)).toEqual(['a@0:xy'])
  })

  test('a session that the store does not answer for is tried again', async () => {
    const { clock, store, stream } = openWriter()
    store.answers.push({ [ONE]: 'silent' })
    stream().emit(chunk('a', 0, 'x'))
    await clock.advance(100)
    expect(store.log(ONE).map(brief)).toEqual(['a@0:x'])
  })

  test('while the database is away attempts back off from 100 ms to 2 s, whatever the number of sessions', async () => {
    const { clock, store, writer, warnings } = openWriter()
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
    const { clock, store, stream } = openWriter()
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
    const { clock, store, stream, writer } = openWriter()
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
    const { clock, store, stream, writer } = openWriter()
    store.decide = () => 'throw'
    stream().emit(chunk('a', 0, 'x'))
    const drained = writer.drain()
    await clock.advance(0)
    await drained
    expect(store.appends.length).toBeGreaterThan(0)
  })

  test('resolves when there is nothing to write', async () => {
    const { writer } = openWriter()
    await writer.drain()
  })
})
