import { describe, expect, test } from 'vitest'
import type { ToolPort } from '../../server/session/agent-port.js'
import { MAX_PROGRESS_BYTES } from '../../server/session/perform/progress.js'
import { createGate, start, toolOf } from '../agents/tool-run.js'

describe('progress', () => {
  test('is every yield but the last, which is the result', async () => {
    const running = start(
      toolOf(async function* () {
        yield 1
        yield 2
        yield 3
      }),
    )
    expect((await running.ended).result.output).toBe(3)
    expect(running.progress).toEqual([1, 2])
  })

  test('goes before what a generator returns', async () => {
    const running = start(
      toolOf(function* () {
        yield 'looking'
        yield 'found'
        return 'done'
      }),
    )
    expect((await running.ended).result.output).toBe('done')
    expect(running.progress).toEqual(['looking'])
  })

  test('is shown while the tool goes on, not when it ends', async () => {
    const { opened, open } = createGate()
    const yielded = createGate()
    const running = start(
      toolOf(async function* () {
        yield 'half'
        yielded.open()
        await opened
      }),
    )
    await yielded.opened
    running.clock.advance(0)
    expect(running.progress).toEqual(['half'])
    open()
    expect((await running.ended).result.output).toBe('half')
  })

  test('is a copy: what changes later does not change it', async () => {
    const running = start(
      toolOf(function* () {
        const state = { done: 1 }
        yield state
        state.done = 2
        yield state
      }),
    )
    await running.ended
    expect(running.progress).toEqual([{ done: 1 }])
  })

  test('that is too large is cut, and what is no JSON is refused with a warning', async () => {
    const running = start(
      toolOf(function* () {
        yield 'x'.repeat(100_000)
        yield new Map()
        return null
      }),
    )
    expect((await running.ended).status).toBe('COMPLETED')
    expect(Buffer.byteLength(JSON.stringify(running.progress[0]))).toBeLessThanOrEqual(MAX_PROGRESS_BYTES)
    expect(running.warnings).toEqual(['tool work: progress was not shown: it is a Map; use Object.fromEntries(map)'])
  })

  test('after the end is ignored', async () => {
    let late: (output: unknown) => void = () => undefined
    const port: ToolPort = {
      ...toolOf(() => 1),
      run: (_input, _context, progress) => {
        late = progress
        return Promise.resolve(1)
      },
    }
    const running = start(port)
    await running.ended
    late('late')
    running.clock.advance(1)
    expect(running.progress).toEqual([])
  })
})
