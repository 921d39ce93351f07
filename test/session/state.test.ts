/** The author's state: typed, kept with the result of the call that set it, forgotten with one that failed. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineState } from '../../server/agents/define-state.js'
import { StagedState } from '../../server/session/perform/staged-state.js'
import { settleOutcomes } from '../../server/session/settle/settle.js'
import type { ToolContext } from '../../server/session/agent-port.js'
import { applyCommit } from '../../server/session/session.js'
import { expectSound } from '../support/expect-sound.js'
import { NOW, acting, ended, givenSession, openCall, rowsOf, settlingAt } from '../support/given.js'
import { toolOf, useScriptedWorlds } from './scripted-worlds.js'
import { afterTurns, createGate } from './worlds.js'

const cart = defineState('cart', z.object({ items: z.array(z.string()) }), { items: [] })
const flag = defineState('flag', z.boolean().nullable(), true)

describe('what a call sees', () => {
  test('is the initial value, then what is committed, then what it has set itself', async () => {
    let committed = {}
    const state = new StagedState(() => committed)
    expect(await state.get(cart)).toEqual({ items: [] })
    committed = { cart: { items: ['tea'] } }
    expect(await state.get(cart)).toEqual({ items: ['tea'] })
    await state.set(cart, { items: ['milk'] })
    expect([await state.get(cart), state.changes]).toEqual([{ items: ['milk'] }, { cart: { items: ['milk'] } }])
  })

  test.each([false, null])('may be %j', async (value) => {
    const state = new StagedState(() => ({ flag: true }))
    await state.set(flag, value)
    expect(await state.get(flag)).toBe(value)
    expect(await new StagedState(() => ({ flag: value })).get(flag)).toBe(value)
  })

  test('is checked: what does not fit is neither kept nor given', async () => {
    const state = new StagedState(() => ({ cart: { items: 'none' } }))
    await expect(state.get(cart)).rejects.toMatchObject({
      code: 'STATE_INVALID',
      message: expect.stringContaining('the state "cart" does not fit') as string,
    })
    await expect(state.set(cart, { items: [7] } as never)).rejects.toMatchObject({ code: 'STATE_INVALID' })
    expect(state.changes).toBeNull()
  })
})

describe('defineState', () => {
  test.each([
    ['a key with a space', () => defineState('my cart', z.string(), ''), '"my cart" is no key of a state'],
    ['what is no schema', () => defineState('cart', 'text' as never, ''), 'the schema of the state "cart" cannot be used'],
  ])('refuses %s by name', (_, define, message) => {
    expect(define).toThrow(expect.objectContaining({ code: 'STATE_INVALID', message: expect.stringContaining(message) as string }))
  })
})

describe('a commit', () => {
  const calls = [openCall('one', 'started'), openCall('two', 'started')]
  const session = givenSession({ phase: acting(calls), calls: rowsOf(calls) })

  test('carries what the calls that are ready have set, beside what was there', () => {
    const before = { ...session, state: { kept: 1, cart: { items: [] } } }
    const outcomes = [ended('one', { state: { cart: { items: ['tea'] } } }), ended('two', { state: { flag: false } })]
    const commit = settleOutcomes(before, outcomes, settlingAt(NOW))
    expect(commit?.state).toEqual({ kept: 1, cart: { items: ['tea'] }, flag: false })
    if (commit !== null) expect(applyCommit(before, commit).state).toEqual(commit.state)
  })

  test('says nothing of it when nothing was set', () => {
    expect(settleOutcomes(session, [ended('one')], settlingAt(NOW))?.state).toBeNull()
  })

  test('takes nothing from a call that has ended already: what it set may have been set anew since', () => {
    const [one, two] = [openCall('one', 'ended'), openCall('two', 'started')]
    const before = { ...givenSession({ phase: acting([one, two]), calls: rowsOf([one, two]) }), state: { flag: false } }
    const commit = settleOutcomes(before, [ended('one', { state: { flag: true } }), ended('two')], settlingAt(NOW))
    expect(commit?.state).toBeNull()
    expect(commit?.changedCalls).toHaveLength(1)
  })

  test('fails the call that sets too much, and keeps the rest', () => {
    const outcomes = [ended('one', { state: { cart: { items: ['x'.repeat(70_000)] } } }), ended('two', { state: { flag: false } })]
    const commit = settleOutcomes(session, outcomes, settlingAt(NOW))
    expect(commit?.state).toEqual({ flag: false })
    expect(commit?.changedCalls.map(({ status, result }) => [status, result?.error?.code ?? null])).toEqual([
      ['FAILED', 'STATE_TOO_LARGE'],
      ['COMPLETED', null],
    ])
  })
})

describe('in tools', () => {
  const worldsOf = useScriptedWorlds()
  const add = (item: string) =>
    toolOf(async ({ state }: ToolContext) => {
      const { items } = await state.get(cart)
      await state.set(cart, { items: [...items, item] })
      if (item === 'poison') throw new Error('it broke')
      return (await state.get(cart)).items.join()
    })

  test('it stays from call to call, in the next turn and in the next process, and a clear keeps it', async () => {
    const worlds = worldsOf(
      ({ step, lastUserText, toolResults }) => (step === 0 ? { calls: [{ name: lastUserText }] } : (toolResults.at(-1)?.text ?? '')),
      {
        tools: { tea: add('tea'), poison: add('poison'), milk: add('milk') },
      },
    )
    const world = worlds.start()
    const sessionId = await world.open('support', 'tea')
    await world.until(sessionId, afterTurns(1))
    await world.send(sessionId, 'poison')
    await world.until(sessionId, afterTurns(2))
    await world.clear(sessionId)
    await world.stop()
    const other = worlds.start()
    await other.send(sessionId, 'milk')
    const log = await other.until(sessionId, afterTurns(3))
    expect(log.flatMap((event) => (event.type === 'TURN_COMPLETED' ? [event.data.output] : []))).toEqual(['tea', 'it broke', 'tea,milk'])
    await expectSound(worlds.store, sessionId)
  })

  test('a call sees what one beside it has completed meanwhile', async () => {
    const set = createGate()
    const slow = toolOf(async ({ state }: ToolContext) => {
      await set.opened
      while ((await state.get(cart)).items.length === 0) await new Promise((resolve) => setImmediate(resolve))
      return 'seen'
    })
    const quick = toolOf(async ({ state }: ToolContext) => {
      await state.set(cart, { items: ['tea'] })
      set.open()
    })
    const worlds = worldsOf(
      ({ step, toolResults }) => (step === 0 ? { calls: [{ name: 'slow' }, { name: 'quick' }] } : (toolResults[0]?.text ?? '')),
      {
        tools: { slow, quick },
      },
    )
    const world = worlds.start()
    const sessionId = await world.open('support', 'go')
    const log = await world.until(sessionId, afterTurns(1))
    expect(log.find(({ type }) => type === 'TURN_COMPLETED')).toMatchObject({ data: { output: 'seen' } })
  })
})
