/** What authors are told of: each event once, after it is durable, whatever they make of it. */
import { describe, expect, test } from 'vitest'
import type { Hooks } from '../../server/session/hooks.js'
import { toolOf } from '../session/scripted-worlds.js'
import { expectSound } from '../support/expect-sound.js'
import { readLog } from '../support/world.js'
import { SWEEP_MS, startPool } from './pool-on-a-clock.js'

/** Every hook there is, each noting its event. */
function noting(seen: string[]): Hooks {
  const note = ({ type }: { readonly type: string }): void => void seen.push(type)
  return {
    'session.started': note,
    'session.waiting': note,
    'session.completed': note,
    'session.failed': note,
    'session.cancelled': note,
    'context.cleared': note,
    'turn.started': note,
    'turn.completed': note,
    'turn.failed': note,
    'turn.cancelled': note,
    'tool_call.requested': note,
    'tool_call.start': note,
    'tool_call.end': note,
  }
}

describe('a hook', () => {
  test('is called once for each event of its type, in their order, once they can be read', async () => {
    const seen: string[] = []
    const readable: boolean[] = []
    const { clock, store, open } = startPool({
      script: ({ step }) => (step === 0 ? { calls: [{ name: 'work' }] } : 'Done.'),
      tools: { work: toolOf(() => 'worked') },
      hooks: {
        ...noting(seen),
        'turn.completed': async (event, { session }) => {
          seen.push(event.type)
          readable.push((await readLog(store, session.id)).some(({ position }) => position === event.position))
        },
      },
    })
    const id = await open('hello')
    await clock.advance(SWEEP_MS)
    expect(seen).toEqual([
      ...['SESSION_STARTED', 'TURN_STARTED', 'TOOL_CALL_REQUESTED', 'TOOL_CALL_START', 'TOOL_CALL_END'],
      ...['TURN_COMPLETED', 'SESSION_WAITING'],
    ])
    expect(readable).toEqual([true])
    await expectSound(store, id)
  })

  test.each([
    ['throws', () => Promise.resolve().then(() => Promise.reject(new Error('the hook is broken')))],
    [
      'throws at once',
      () => {
        throw new Error('the hook is broken')
      },
    ],
  ])('that %s is logged, and the session goes on', async (_, hook) => {
    const { clock, store, open, typesIn, errors } = startPool({ hooks: { 'turn.started': hook } })
    const id = await open('hello')
    await clock.advance(SWEEP_MS)
    expect(await typesIn(id)).toContain('TURN_COMPLETED')
    expect(errors).toEqual(['a hook of agent "support" failed on TURN_STARTED; the session goes on'])
    await expectSound(store, id)
  })

  test('that never ends holds nothing up: neither the turn, nor the next ones, nor a stop beyond its deadline', async () => {
    const { clock, open, typesIn, pool } = startPool({ hooks: { 'turn.started': () => new Promise(() => undefined) } })
    const id = await open('hello')
    await clock.advance(SWEEP_MS)
    expect(await typesIn(id)).toContain('TURN_COMPLETED')
    let isStopped = false
    const stopped = pool.stop(5000).then(() => (isStopped = true))
    await clock.advance(4999)
    expect(isStopped).toBe(false)
    await clock.advance(1)
    await stopped
  })

  test('that is under way is waited for by a stop', async () => {
    let end = (): void => undefined
    const { clock, open, pool } = startPool({ hooks: { 'turn.completed': () => new Promise<void>((resolve) => (end = resolve)) } })
    await open('hello')
    await clock.advance(SWEEP_MS)
    let isStopped = false
    const stopped = pool.stop(5000).then(() => (isStopped = true))
    await clock.advance(100)
    expect(isStopped).toBe(false)
    end()
    await stopped
  })
})
