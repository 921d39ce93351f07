/** One process drives a session: what it does when everything goes well, and what it makes of what comes meanwhile. */
import { describe, expect, test } from 'vitest'
import { defineTool } from '../../server/agents/define-tool.js'
import { scriptedFailure } from '../../server/models/scripted.js'
import { expectSound } from '../support/expect-sound.js'
import { ALICE, BOB } from '../support/world.js'
import { beforeCommit, interpose } from './interposed-store.js'
import { toolOf, useScriptedWorlds } from './scripted-worlds.js'
import { afterTurns, createGate, typesOf } from './worlds.js'

const worldsOf = useScriptedWorlds()

describe('a session', () => {
  test('answers a message and rests', async () => {
    const worlds = worldsOf(({ lastUserText }) => `You said ${lastUserText}.`)
    const world = worlds.start()
    const sessionId = await world.open('support', 'hello')
    const log = await world.untilRest(sessionId)
    await expectSound(worlds.store, sessionId)
    expect(log.filter((event) => event.type !== 'LLM_CHUNK').map((event) => event.type)).toEqual([
      'SESSION_STARTED',
      'TURN_STARTED',
      'MESSAGE_RECEIVED',
      'DELIVERY_SETTLED',
      'STEP_STARTED',
      'MESSAGE_COMPLETED',
      'STEP_COMPLETED',
      'TURN_COMPLETED',
      'SESSION_WAITING',
    ])
    expect(log.find((event) => event.type === 'TURN_COMPLETED')).toMatchObject({ data: { output: 'You said hello.' } })
  })

  test('runs the tools that the model asks for side by side and gives it their results in call order', async () => {
    const slow = createGate()
    const read: string[][] = []
    const worlds = worldsOf(
      ({ step, toolResults }) => {
        if (step === 0) return { calls: [{ name: 'slow' }, { name: 'quick' }] }
        read.push(toolResults.map((result) => `${result.name}: ${result.text}`))
        return 'Done.'
      },
      {
        tools: {
          slow: toolOf(async () => {
            await slow.opened
            return 'slow result'
          }),
          quick: toolOf(() => {
            slow.open()
            return 'quick result'
          }),
        },
      },
    )
    const world = worlds.start()
    const sessionId = await world.open('support', 'go')
    await world.untilRest(sessionId)
    expect(read).toEqual([['slow: slow result', 'quick: quick result']])
    await expectSound(worlds.store, sessionId)
  })

  test('remembers the turns before', async () => {
    const worlds = worldsOf(({ userMessages, history }) => `${userMessages} messages, ${history.length} items`)
    const world = worlds.start()
    const sessionId = await world.open('support', 'one')
    await world.until(sessionId, afterTurns(1))
    await world.send(sessionId, 'two')
    const log = await world.until(sessionId, afterTurns(2))
    const outputs = log.flatMap((event) => (event.type === 'TURN_COMPLETED' ? [event.data.output] : []))
    expect(outputs).toEqual(['1 messages, 1 items', '2 messages, 3 items'])
    await expectSound(worlds.store, sessionId)
  })

  test('reads its history from the database once while it is driven, however many steps it takes', async () => {
    const seen: number[] = []
    const worlds = worldsOf(
      ({ step, history }) => {
        seen.push(history.length)
        return step < 4 ? { calls: [{ name: 'work' }] } : 'Done.'
      },
      { tools: { work: toolOf(() => 'worked') } },
    )
    let reads = 0
    const store = interpose(worlds.store, {
      loadHistory: (...args) => {
        reads += 1
        return worlds.store.loadHistory(...args)
      },
    })
    const world = worlds.start({ store })
    const sessionId = await world.open('support', 'one')
    await world.until(sessionId, afterTurns(1))
    expect(reads).toBe(0)
    await world.send(sessionId, 'two')
    await world.until(sessionId, afterTurns(2))
    expect(reads).toBe(1)
    expect(seen).toEqual([1, 3, 5, 7, 9, 11, 13, 15, 17, 19])
    await expectSound(worlds.store, sessionId)
    await world.stop()
  })

  test('calls a failing provider again within the step, and retracts what the failed attempt had said', async () => {
    let calls = 0
    const worlds = worldsOf(() => {
      calls += 1
      return calls < 3 ? { text: 'I was say', fail: scriptedFailure('MODEL_UNAVAILABLE', { retryAfterMs: 1 }) } : 'At last.'
    })
    const world = worlds.start()
    const sessionId = await world.open('support', 'go')
    const log = await world.untilRest(sessionId)
    expect(log.filter((event) => event.type === 'STEP_RETRYING')).toHaveLength(2)
    expect(log.filter((event) => event.type === 'STEP_STARTED').map((event) => [event.stepIndex, event.attempt])).toEqual([
      [0, 1],
      [0, 2],
      [0, 3],
    ])
    await expectSound(worlds.store, sessionId)
  })

  test('takes nothing any more once it has ended, of no kind', async () => {
    const worlds = worldsOf(() => 'Hi.')
    const world = worlds.start()
    const sessionId = await world.open('support', 'hello')
    await world.untilRest(sessionId)
    await world.end(sessionId)
    await world.until(sessionId, (log) => log.at(-1)?.type === 'SESSION_COMPLETED')
    await expect(world.send(sessionId, 'late')).rejects.toThrow('ended')
    await expect(world.cancel(sessionId)).rejects.toThrow('ended')
    await expect(world.end(sessionId)).rejects.toThrow('ended')
    await expectSound(worlds.store, sessionId)
  })
})

describe('what comes while a session is driven', () => {
  test('a queued message waits for the turn and starts the next one, without a rest between them', async () => {
    const gate = createGate()
    const worlds = worldsOf(async function* ({ lastUserText }) {
      if (lastUserText === 'first') await gate.opened
      yield lastUserText
    })
    const world = worlds.start()
    const sessionId = await world.open('support', 'first')
    await world.until(sessionId, (log) => typesOf(log).includes('STEP_STARTED'))
    await world.queue(sessionId, 'second')
    gate.open()
    const log = await world.until(sessionId, afterTurns(2))
    expect(typesOf(log).filter((type) => type === 'SESSION_WAITING')).toHaveLength(1)
    await expectSound(worlds.store, sessionId)
  })

  test('a cancel closes the call of the model, keeps what it had said, and the next turn knows it', async () => {
    let aborted = false
    const worlds = worldsOf(async function* ({ lastUserText, signal, history }) {
      if (lastUserText === 'again') return yield JSON.stringify(history.map((item) => item.text))
      signal.addEventListener('abort', () => (aborted = true))
      yield { text: 'Once upon', hang: true }
    })
    const world = worlds.start()
    const sessionId = await world.open('support', 'a story')
    await world.until(sessionId, (log) => typesOf(log).includes('LLM_CHUNK'))
    await world.cancel(sessionId)
    await world.until(sessionId, afterTurns(1))
    expect(aborted).toBe(true)
    await world.send(sessionId, 'again')
    const log = await world.until(sessionId, afterTurns(2))
    expect(log.find((event) => event.type === 'TURN_COMPLETED')).toMatchObject({
      data: { output: JSON.stringify(['a story', 'Once upon', 'again']) },
    })
    await expectSound(worlds.store, sessionId)
  })

  test('a cancel sets the signal of a running tool, and what it still answers is kept', async () => {
    const worlds = worldsOf(({ step }) => (step === 0 ? { calls: [{ name: 'work' }] } : 'unreachable'), {
      tools: {
        work: toolOf(async ({ signal }) => {
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
          return 'half of it'
        }),
      },
    })
    const world = worlds.start()
    const sessionId = await world.open('support', 'go')
    await world.until(sessionId, (log) => typesOf(log).includes('TOOL_CALL_START'))
    await world.cancel(sessionId)
    const log = await world.until(sessionId, afterTurns(1))
    expect(log.find((event) => event.type === 'TOOL_CALL_END')).toMatchObject({ data: { status: 'COMPLETED', output: 'half of it' } })
    expect(typesOf(log)).toContain('TURN_CANCELLED')
    await expectSound(worlds.store, sessionId)
  })

  test('a tool that is settled without its answer shows no progress any more', async () => {
    const talk = { on: true }
    const chatter = defineTool({
      description: 'Never stops.',
      input: { type: 'object' },
      execute: async function* () {
        for (let count = 0; talk.on; count += 1) {
          yield count
          await Promise.resolve()
          if (count % 5 === 0) await new Promise((resolve) => setImmediate(resolve))
        }
      },
    })
    const worlds = worldsOf(
      ({ lastUserText, step }) => (lastUserText === 'go' && step === 0 ? { calls: [{ name: 'chatter' }] } : 'Hello.'),
      { tools: { chatter }, limits: { cancelGraceMs: 0 } },
    )
    const store = beforeCommit(worlds.store, () => new Promise((resolve) => setTimeout(resolve, 2)))
    const world = worlds.start({ store })
    const sessionId = await world.open('support', 'go')
    await world.until(sessionId, (log) => typesOf(log).includes('TOOL_CALL_PROGRESS'))
    await world.send(sessionId, 'hello?', BOB)
    await world.cancel(sessionId)
    await world.until(sessionId, afterTurns(2))
    talk.on = false
    await expectSound(worlds.store, sessionId)
    await world.stop()
  })
})

describe('a turn whose tool says that it is for', () => {
  test('the person who sent the message, not the one who opened the session', async () => {
    const seen: string[] = []
    const worlds = worldsOf(({ step }) => (step === 0 ? { calls: [{ name: 'who' }] } : 'Hi.'), {
      tools: { who: toolOf(({ principal, session }) => seen.push(`${principal.id} in the session of ${session.owner.id}`)) },
    })
    const world = worlds.start()
    const sessionId = await world.open('support', 'one', ALICE)
    await world.until(sessionId, afterTurns(1))
    await world.send(sessionId, 'two', BOB)
    await world.until(sessionId, afterTurns(2))
    expect(seen).toEqual(['alice in the session of alice', 'bob in the session of alice'])
  })
})
