/** A person corrects a turn while one process drives it: what becomes of the model's call, of running tools, and of what was said. */
import { describe, expect, test } from 'vitest'
import { expectSound } from '../support/expect-sound.js'
import { BOB } from '../support/world.js'
import { beforeCommit } from './interposed-store.js'
import { toolOf, useScriptedWorlds } from './scripted-worlds.js'
import { afterDeliveries, afterTurns, createGate, typesOf } from './worlds.js'

const worldsOf = useScriptedWorlds()

describe('a message of the person whom the turn serves', () => {
  test('closes a call of the model that has shown nothing, and is read by the next one, in the same turn', async () => {
    let aborted = false
    const worlds = worldsOf(async function* ({ lastUserText, signal, history }) {
      if (lastUserText === 'no, this') return yield JSON.stringify(history.map((item) => item.text))
      signal.addEventListener('abort', () => (aborted = true))
      yield { reasoning: 'Hm, that. ', hang: true }
    })
    const world = worlds.start()
    const sessionId = await world.open('support', 'do that')
    await world.until(sessionId, (log) => typesOf(log).includes('LLM_REASONING'))
    await world.send(sessionId, 'no, this')
    const log = await world.until(sessionId, afterTurns(1))
    expect(aborted).toBe(true)
    expect(log.filter(({ type }) => type === 'TURN_STARTED')).toHaveLength(1)
    expect(log.find(({ type }) => type === 'TURN_COMPLETED')).toMatchObject({ data: { output: '["do that","no, this"]' } })
    expect(log.filter(({ type }) => type === 'STEP_STARTED').map(({ stepIndex, attempt }) => [stepIndex, attempt])).toEqual([
      [0, 1],
      [1, 1],
    ])
    await expectSound(worlds.store, sessionId)
  })

  test('lets a running tool finish, once, and is read with its result', async () => {
    const [begun, gate] = [createGate(), createGate()]
    let runs = 0
    const worlds = worldsOf(
      ({ history }) => (history.length === 1 ? { calls: [{ name: 'work' }] } : history.map(({ role }) => role).join(' ')),
      {
        tools: {
          work: toolOf(async ({ signal }) => {
            runs += 1
            begun.open()
            await gate.opened
            return signal.aborted ? 'stopped' : 'worked'
          }),
        },
      },
    )
    const world = worlds.start()
    const sessionId = await world.open('support', 'go')
    await begun.opened
    await world.send(sessionId, 'and this')
    gate.open()
    const log = await world.until(sessionId, afterTurns(1))
    expect(log.find(({ type }) => type === 'TOOL_CALL_END')).toMatchObject({ data: { status: 'COMPLETED', output: 'worked' } })
    expect(log.find(({ type }) => type === 'TURN_COMPLETED')).toMatchObject({ data: { output: 'user assistant tool user' } })
    expect(runs).toBe(1)
    await expectSound(worlds.store, sessionId)
  })

  test('leaves text that is shown alone, and starts the next turn when that was the last of this one', async () => {
    const gate = createGate()
    const worlds = worldsOf(async function* ({ lastUserText }) {
      yield `On ${lastUserText}: `
      if (lastUserText === 'one') await gate.opened
      yield 'done.'
    })
    const world = worlds.start()
    const sessionId = await world.open('support', 'one')
    await world.until(sessionId, (log) => typesOf(log).includes('LLM_CHUNK'))
    await world.send(sessionId, 'two')
    gate.open()
    const log = await world.until(sessionId, afterTurns(2))
    const outputs = log.flatMap((event) => (event.type === 'TURN_COMPLETED' ? [event.data.output] : []))
    expect(outputs).toEqual(['On one: done.', 'On two: done.'])
    expect(typesOf(log)).not.toContain('STEP_INTERRUPTED')
    await expectSound(worlds.store, sessionId)
  })

  test.each([1, 2, 3, 4])('that comes right before commit %i is read once, and starts one turn more at most', async (number) => {
    const worlds = worldsOf(({ history }) => (history.length === 1 ? { calls: [{ name: 'work' }] } : 'Done.'), {
      tools: { work: toolOf(() => 'worked') },
    })
    let commits = 0
    const store = beforeCommit(worlds.store, async ({ facts }) => {
      commits += 1
      if (commits === number) await world.send(facts.id, 'just now')
    })
    const world = worlds.start({ store })
    const sessionId = await world.open('support', 'go')
    const log = await world.until(sessionId, (events) => afterDeliveries(2)(events) && afterTurns(1)(events))
    expect(log.filter((event) => event.type === 'MESSAGE_RECEIVED' && event.data.text === 'just now')).toHaveLength(1)
    expect(log.filter(({ type }) => type === 'TURN_STARTED')).toHaveLength(number === 4 ? 2 : 1)
    await expectSound(worlds.store, sessionId)
    await world.stop()
  })
})

test("somebody else's message waits for the turn, and is served in his own", async () => {
  const gate = createGate()
  const worlds = worldsOf(async ({ lastUserText }) => {
    if (lastUserText === 'hers') await gate.opened
    return `Done: ${lastUserText}.`
  })
  const world = worlds.start()
  const sessionId = await world.open('support', 'hers')
  await world.until(sessionId, (log) => typesOf(log).includes('STEP_STARTED'))
  await world.send(sessionId, 'his', BOB)
  gate.open()
  const log = await world.until(sessionId, afterTurns(2))
  expect(log.flatMap((event) => (event.type === 'TURN_STARTED' ? [event.data.principal.id] : []))).toEqual(['alice', 'bob'])
  expect(typesOf(log)).not.toContain('STEP_INTERRUPTED')
  await expectSound(worlds.store, sessionId)
})

describe('a clear', () => {
  test('stops what runs; the next turn reads nothing of before, also in a process that was not there', async () => {
    const worlds = worldsOf(async function* ({ lastUserText, history }) {
      if (lastUserText === 'a story') yield { text: 'Once upon', hang: true }
      else yield JSON.stringify(history.map((item) => item.text))
    })
    const world = worlds.start()
    const sessionId = await world.open('support', 'a story')
    await world.until(sessionId, (log) => typesOf(log).includes('LLM_CHUNK'))
    await world.clear(sessionId)
    await world.until(sessionId, afterTurns(1))
    await world.send(sessionId, 'anew')
    await world.until(sessionId, afterTurns(2))
    await world.stop()
    const other = worlds.start()
    await other.send(sessionId, 'and on')
    const log = await other.until(sessionId, afterTurns(3))
    const outputs = log.flatMap((event) => (event.type === 'TURN_COMPLETED' ? [event.data.output] : []))
    expect(outputs).toEqual(['["anew"]', JSON.stringify(['anew', '["anew"]', 'and on'])])
    await expectSound(worlds.store, sessionId)
  })
})
