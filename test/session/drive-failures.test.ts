/** A session whose lease or database fails while it is driven. */
import { describe, expect, test } from 'vitest'
import { defineTool } from '../../server/agents/define-tool.js'
import { OutcomeUnknown } from '../../server/errors.js'
import { expectSound } from '../support/expect-sound.js'
import { ALICE } from '../support/world.js'
import { interpose } from './interposed-store.js'
import { toolOf, useScriptedWorlds } from './scripted-worlds.js'
import { afterTurns, createGate, typesOf } from './worlds.js'

const worldsOf = useScriptedWorlds()

describe('a worker that was overtaken (R2)', () => {
  test('stops quietly: what its tool brings later is not written, and the other one has told the model', async () => {
    const begun = createGate()
    const late = createGate()
    const worlds = worldsOf(({ step }) => (step === 0 ? { calls: [{ name: 'pay' }] } : 'Sorry.'), {
      tools: {
        pay: toolOf(async () => {
          begun.open()
          await late.opened
          return 'paid'
        }),
      },
    })
    const first = worlds.start()
    const sessionId = await first.open('support', 'pay')
    await begun.opened
    await worlds.store.releaseAll()
    const log = await worlds.start().until(sessionId, afterTurns(1))
    expect(log.find((event) => event.type === 'TOOL_CALL_END')).toMatchObject({ data: { status: 'ABANDONED' } })
    late.open()
    await first.stop()
    expect(await expectSound(worlds.store, sessionId)).toHaveLength(log.length)
  })

  test('is told by the next thing that it streams, and its tool by its signal', async () => {
    const begun = createGate()
    const goOn = createGate()
    const aborted = createGate()
    const runs = { count: 0 }
    const pay = defineTool({
      description: 'Pays.',
      input: { type: 'object' },
      execute: async function* (_, { signal }) {
        runs.count += 1
        signal.addEventListener('abort', () => aborted.open())
        begun.open()
        await goOn.opened
        yield 'nearly there'
        await aborted.opened
      },
    })
    const worlds = worldsOf(({ step }) => (step === 0 ? { calls: [{ name: 'pay' }] } : 'Sorry.'), { tools: { pay } })
    const first = worlds.start()
    const sessionId = await first.open('support', 'pay')
    await begun.opened
    await worlds.store.releaseAll()
    await worlds.start().until(sessionId, afterTurns(1))
    goOn.open()
    await aborted.opened
    expect(runs.count).toBe(1)
    await expectSound(worlds.store, sessionId)
  })
})

describe('a write whose reply was lost', () => {
  test('is repeated until it is known what became of it, and nothing is done twice', async () => {
    const ran: string[] = []
    const worlds = worldsOf(({ step }) => (step === 0 ? { calls: [{ name: 'pay' }] } : 'Paid.'), {
      tools: { pay: toolOf(({ callId }) => ran.push(callId)) },
    })
    let losses = 3
    const store = interpose(worlds.store, {
      async commit(session, commit, ttlMs) {
        const outcome = await worlds.store.commit(session, commit, ttlMs)
        if (commit.newCalls.length > 0 && losses > 0) {
          losses -= 1
          throw new OutcomeUnknown('the connection broke after the write')
        }
        return outcome
      },
    })
    const world = worlds.start({ store })
    const sessionId = await world.open('support', 'pay')
    await world.until(sessionId, afterTurns(1))
    expect(ran).toHaveLength(1)
    expect(losses).toBe(0)
    await expectSound(worlds.store, sessionId)
    await world.stop()
  })
})

describe('a database that does not answer for a while', () => {
  test('fails no turn: the history is asked for again', async () => {
    const worlds = worldsOf(({ history }) => `I read ${history.length}.`)
    let failures = 2
    const store = interpose(worlds.store, {
      async loadHistory(id, epoch) {
        if (failures-- > 0) throw new OutcomeUnknown('the connection broke')
        return worlds.store.loadHistory(id, epoch)
      },
    })
    const world = worlds.start({ store })
    const sessionId = await world.open('support', 'one')
    await world.until(sessionId, afterTurns(1))
    await world.send(sessionId, 'two')
    const log = await world.until(sessionId, afterTurns(2))
    expect(failures).toBeLessThan(0)
    expect(typesOf(log)).not.toContain('TURN_FAILED')
    await expectSound(worlds.store, sessionId)
    await world.stop()
  })

  test('is asked again for what came in, too', async () => {
    const gate = createGate()
    const worlds = worldsOf(async function* ({ lastUserText }) {
      if (lastUserText === 'one') await gate.opened
      yield lastUserText
    })
    let failures = 2
    const store = interpose(worlds.store, {
      async loadDeliveries(id, after) {
        if (failures-- > 0) throw new OutcomeUnknown('the connection broke')
        return worlds.store.loadDeliveries(id, after)
      },
    })
    const world = worlds.start({ store })
    const sessionId = await world.open('support', 'one')
    await world.until(sessionId, (log) => typesOf(log).includes('STEP_STARTED'))
    await world.send(sessionId, 'two')
    gate.open()
    await world.until(sessionId, afterTurns(2))
    await expectSound(worlds.store, sessionId)
    await world.stop()
  })
})

describe('a fault', () => {
  test('of reading the history fails the turn, not the process: also while the instructions are still awaited', async () => {
    const worlds = worldsOf(() => 'unreachable', {
      instructions: async () => {
        await new Promise((resolve) => setTimeout(resolve, 5))
        return 'You help.'
      },
    })
    const store = interpose(worlds.store, { loadHistory: async () => Promise.reject(new Error('a row of history cannot be read')) })
    const world = worlds.start({ store })
    const history = [{ role: 'user', text: 'before' }] as const
    const spec = { agent: 'support', mode: null, idleTimeoutMs: null, title: null, metadata: {}, addresses: [], history }
    const created = await world.intake.deliver(ALICE, { kind: 'create', spec }, { kind: 'MESSAGE', text: 'hello', policy: 'STEER' }, null)
    if (created.kind !== 'accepted') throw new Error(created.kind)
    const log = await world.until(created.sessionId, afterTurns(1))
    expect(log.find((event) => event.type === 'TURN_FAILED')).toMatchObject({ data: { error: { code: 'INTERNAL' } } })
    await world.stop()
  })
})
