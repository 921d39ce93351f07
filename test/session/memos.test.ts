/** What an author's code computes once for a session: once in a process, once across processes, and again only after a failure. */
import { describe, expect, test } from 'vitest'
import { defineTool } from '../../server/agents/define-tool.js'
import { OutcomeUnknown, type Json } from '../../server/errors.js'
import { Memos } from '../../server/session/perform/memos.js'
import type { ToolContext } from '../../server/session/agent-port.js'
import { createMemoryStore } from '../support/memory-store.js'
import { createFakeClock } from '../support/fake-clock.js'
import { silentLog } from '../support/silent-log.js'
import { claimNew } from '../support/store-fixtures.js'
import { toolOf, useScriptedWorlds } from './scripted-worlds.js'
import { afterTurns } from './worlds.js'

async function begin() {
  const clock = createFakeClock()
  const store = createMemoryStore(clock)
  const session = await claimNew({ store, clock, close: () => Promise.resolve() })
  let loads = 0
  const counted = {
    ...store,
    loadMemo: (...args: Parameters<typeof store.loadMemo>) => {
      loads += 1
      return store.loadMemo(...args)
    },
  }
  const lost = new AbortController()
  const open = (lease = session.lease, memos: Partial<typeof counted> = {}) =>
    new Memos({ store: { ...counted, ...memos }, clock, log: silentLog(), lost: lost.signal }, lease)
  return { clock, store, session, open, loads: () => loads, lose: () => lost.abort() }
}

describe('a memo', () => {
  test('is computed once, also by calls side by side, and read once', async () => {
    const { open, loads } = await begin()
    const memos = open()
    let computed = 0
    const compute = () => (computed += 1)
    expect(await Promise.all([memos.get('rate', compute), memos.get('rate', compute)])).toEqual([1, 1])
    expect(await memos.get('rate', compute)).toBe(1)
    expect([computed, loads()]).toEqual([1, 1])
    expect(await open().get('rate', compute)).toBe(1)
    expect(computed).toBe(1)
  })

  test.each<Json>([null, 0, false, '', [], { nested: [1] }])('may be %j', async (value) => {
    const { open } = await begin()
    expect(await open().get('value', () => value)).toEqual(value)
    expect(await open().get('value', () => 'another')).toEqual(value)
  })

  test('that throws is not kept, and is computed again', async () => {
    const { open } = await begin()
    const memos = open()
    await expect(memos.get('rate', () => Promise.reject(new Error('the service is away')))).rejects.toThrow('the service is away')
    expect(await memos.get('rate', () => 7)).toBe(7)
  })

  test('outlasts a database that does not answer: nothing is computed twice, and the tool hears nothing of it', async () => {
    const { clock, store, session, open } = await begin()
    let saves = 0
    let computed = 0
    const memos = open(session.lease, {
      saveMemo: async (...args) => {
        saves += 1
        const outcome = await store.saveMemo(...args)
        if (saves === 1) throw new OutcomeUnknown('the reply was lost')
        return outcome
      },
    })
    const value = memos.get('rate', () => (computed += 1))
    value.catch(() => undefined)
    await clock.advance(1000)
    expect(await value).toBe(1)
    expect([saves, computed]).toEqual([2, 1])
  })

  test('is given up with the session', async () => {
    const { clock, session, open, lose } = await begin()
    const value = open(session.lease, { loadMemo: () => Promise.reject(new OutcomeUnknown('nobody answers')) }).get('rate', () => 1)
    const refused = expect(value).rejects.toMatchObject({ code: 'LEASE_LOST' })
    lose()
    await clock.advance(1000)
    await refused
  })

  test('is kept by the holder of the session alone', async () => {
    const { session, open } = await begin()
    await expect(open({ ...session.lease, epoch: session.lease.epoch - 1 }).get('rate', () => 1)).rejects.toMatchObject({
      code: 'LEASE_LOST',
    })
    expect(await open().get('rate', () => 2)).toBe(2)
  })

  test.each<[string, string, () => unknown, string]>([
    ['an empty key', '', () => 1, 'the key of a memo must be a text of 1 to 255 characters'],
    ['a long key', 'k'.repeat(256), () => 1, 'the key of a memo must be a text of 1 to 255 characters'],
    ['what is no JSON', 'rate', () => ({ big: 1n }), 'the memo "rate" cannot be kept'],
    ['too much', 'rate', () => 'x'.repeat(70_000), 'the memo "rate" has 70002 bytes of JSON; at most 65536 fit'],
  ])('of %s is refused by name', async (_, key, compute, message) => {
    const { open } = await begin()
    await expect(open().get(key, compute)).rejects.toMatchObject({
      code: 'MEMO_INVALID',
      message: expect.stringContaining(message) as string,
    })
  })
})

describe('in tools', () => {
  const worldsOf = useScriptedWorlds()

  test('it is there from turn to turn, and in the next process', async () => {
    let asked = 0
    const rate = toolOf(({ memo }: ToolContext) => memo('rate', () => ({ rate: (asked += 1) })))
    const worlds = worldsOf(({ step, toolResults }) => (step === 0 ? { calls: [{ name: 'rate' }] } : (toolResults.at(-1)?.text ?? '')), {
      tools: { rate },
    })
    const world = worlds.start()
    const sessionId = await world.open('support', 'one')
    await world.until(sessionId, afterTurns(1))
    await world.stop()
    const other = worlds.start()
    await other.send(sessionId, 'two')
    const log = await other.until(sessionId, afterTurns(2))
    expect(log.flatMap((event) => (event.type === 'TURN_COMPLETED' ? [event.data.output] : []))).toEqual(['{"rate":1}', '{"rate":1}'])
    expect(asked).toBe(1)
  })

  test('its type is that of what computes it', () => {
    defineTool({
      description: 'Works.',
      input: { type: 'object' },
      execute: async (_, { memo }) => {
        const { rate } = await memo('rate', () => ({ rate: 1 }))
        return rate.toFixed(2)
      },
    })
  })
})
