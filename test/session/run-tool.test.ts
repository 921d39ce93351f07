import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runTool } from '../../server/session/perform/run-tool.js'
import { createContext, createGate, createManualClock, start, toolOf, type Running } from '../agents/tool-run.js'

describe('a cancel', () => {
  test('before the start runs nothing', async () => {
    let ran = false
    const tool = toolOf(() => {
      ran = true
    })
    const context = createContext(AbortSignal.abort())
    const ended = await runTool({
      tool,
      call: { id: context.callId, input: {} },
      context,
      clock: createManualClock(),
      progress: () => undefined,
    })
    expect(ended).toMatchObject({
      status: 'CANCELLED',
      result: { error: null, text: 'This call was cancelled before it began; it had no effect.' },
    })
    expect(ran).toBe(false)
  })

  test('between two steps of its start runs nothing either', async () => {
    let ran = false
    const running = start(toolOf(() => (ran = true)))
    running.abort()
    expect((await running.ended).status).toBe('CANCELLED')
    expect(ran).toBe(false)
  })

  test('is what a tool that throws after it ended as', async () => {
    const { running, begun } = startFollower()
    await begun
    running.abort()
    expect(await running.ended).toMatchObject({
      status: 'CANCELLED',
      result: { output: null, error: null, text: expect.stringContaining('may have taken effect') },
    })
  })

  test('does not hide what a tool still finished', async () => {
    const begun = createGate()
    const done = createGate()
    const running = start(
      toolOf(async () => {
        begun.open()
        await done.opened
        return 'refunded'
      }),
    )
    await begun.opened
    running.abort()
    done.open()
    expect(await running.ended).toMatchObject({ status: 'COMPLETED', result: { output: 'refunded' } })
  })

  test('stops a generator at its next yield and lets it clean up', async () => {
    const begun = createGate()
    const goOn = createGate()
    const did: string[] = []
    const running = start(
      toolOf(async function* () {
        try {
          begun.open()
          await goOn.opened
          yield 1
          did.push('went on')
        } finally {
          did.push('cleaned up')
        }
      }),
    )
    await begun.opened
    running.abort()
    goOn.open()
    expect((await running.ended).status).toBe('CANCELLED')
    expect(did).toEqual(['cleaned up'])
    expect(running.progress).toEqual([])
  })
})

describe('a time limit', () => {
  test('that passes fails the call at once, tells the tool and leaves no timer', async () => {
    const { running, begun, told } = startFollower({ timeoutMs: 500, ignores: true })
    await begun
    running.clock.advance(499)
    expect(told).toEqual([])
    running.clock.advance(1)
    const { status, result } = await running.ended
    expect([status, result.error]).toEqual([
      'FAILED',
      { code: 'TOOL_TIMEOUT', message: 'work did not finish within 500 ms; it may have taken effect', retryable: true },
    ])
    expect(told).toHaveLength(1)
    expect(running.clock.pending()).toBe(0)
  })

  test('is the reason even when the tool throws as soon as it is told', async () => {
    const { running, begun } = startFollower({ timeoutMs: 500 })
    await begun
    running.clock.advance(500)
    expect((await running.ended).result.error?.code).toBe('TOOL_TIMEOUT')
  })

  test('that is kept changes nothing and leaves no timer', async () => {
    const running = start(toolOf(() => 1, { timeoutMs: 500 }))
    expect((await running.ended).status).toBe('COMPLETED')
    expect(running.clock.pending()).toBe(0)
  })

  test('still passes a cancel on to the tool', async () => {
    const { running, begun, told } = startFollower({ timeoutMs: 500 })
    await begun
    running.abort()
    expect((await running.ended).status).toBe('CANCELLED')
    expect(told).toEqual([new Error('cancelled')])
  })

  test('that passes after a cancel is a cancel', async () => {
    const { running, begun } = startFollower({ timeoutMs: 500, ignores: true })
    await begun
    running.abort()
    running.clock.advance(500)
    expect((await running.ended).status).toBe('CANCELLED')
  })
})

/** A tool that does nothing but hear of its end, and throws then unless it `ignores` it. */
function startFollower({ timeoutMs, ignores = false }: { readonly timeoutMs?: number; readonly ignores?: boolean } = {}): Follower {
  const { opened: begun, open } = createGate()
  const told: unknown[] = []
  const follow = (signal: AbortSignal): Promise<never> =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        told.push(signal.reason)
        if (!ignores) reject(new Error('socket closed'))
      })
      open()
    })
  const limit = timeoutMs === undefined ? {} : { timeoutMs }
  return { running: start(toolOf((_, { signal }) => follow(signal), limit)), begun, told }
}
interface Follower {
  readonly running: Running
  readonly begun: Promise<void>
  readonly told: readonly unknown[]
}

test('whatever a tool does, the answer can be stored (property)', async () => {
  const anything = fc.anything({
    withBigInt: true,
    withBoxedValues: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withObjectString: true,
    withSet: true,
    withSparseArray: true,
    withTypedArray: true,
  })
  const behaviours = fc.record({
    how: fc.constantFrom('return', 'throw', 'resolve', 'reject', 'yield', 'return trap', 'throw trap'),
    value: anything,
    earlier: fc.array(anything, { maxLength: 3 }),
  })
  await fc.assert(
    fc.asyncProperty(behaviours, fc.boolean(), async ({ how, value, earlier }, aborts) => {
      const trap: unknown = new Proxy(
        {},
        {
          get: () => {
            throw value
          },
          ownKeys: () => {
            throw value
          },
          getPrototypeOf: () => {
            throw value
          },
        },
      )
      const begun = Promise.resolve()
      const running = start(
        toolOf(() => {
          switch (how) {
            case 'throw':
              throw value
            case 'resolve':
              return Promise.resolve(value)
            case 'reject':
              return (async () => {
                await begun
                throw value
              })()
            case 'yield':
              return (async function* () {
                yield* earlier
                yield value
              })()
            case 'return trap':
              return trap
            case 'throw trap':
              throw trap
            default:
              return value
          }
        }),
      )
      if (aborts) running.abort()
      const ended = await running.ended
      expect(JSON.parse(JSON.stringify(ended))).toEqual(ended)
      expect(JSON.parse(JSON.stringify(running.progress))).toEqual(running.progress)
      expect(ended.result.error !== null).toBe(ended.status === 'FAILED')
      expect(typeof ended.result.text).toBe('string')
    }),
    { numRuns: 500 },
  )
})
