/** A session that goes from one process to the next: handed over, or taken over. */
import { describe, expect, test } from 'vitest'
import { expectSound } from '../support/expect-sound.js'
import { makeFaulty } from '../support/faulty-store.js'
import { readLog } from '../support/world.js'
import { toolOf, useScriptedWorlds } from './scripted-worlds.js'
import { afterTurns, createGate, typesOf } from './worlds.js'

const worldsOf = useScriptedWorlds()

describe('a process that drains', () => {
  test('hands a model call back, and another process makes it without counting a takeover', async () => {
    let calls = 0
    const worlds = worldsOf(() => {
      calls += 1
      return calls === 1 ? { text: 'I was say', hang: true } : 'Here I am.'
    })
    const first = worlds.start()
    const sessionId = await first.open('support', 'hello')
    await first.until(sessionId, (log) => typesOf(log).includes('LLM_CHUNK'))
    await first.stop()
    const handedBack = await readLog(worlds.store, sessionId)
    expect(handedBack.at(-1)).toMatchObject({ type: 'STEP_INTERRUPTED', data: { reason: 'WORKER_LOST' } })
    const log = await worlds.start().until(sessionId, afterTurns(1))
    expect(log.find((event) => event.type === 'TURN_COMPLETED')).toMatchObject({ data: { output: 'Here I am.' } })
    await expectSound(worlds.store, sessionId)
  })

  test('waits for a tool that runs, keeps its result, and leaves what follows to the next process', async () => {
    const begun = createGate()
    const finish = createGate()
    let runs = 0
    const worlds = worldsOf(
      ({ step, toolResults }) => (step === 0 ? { calls: [{ name: 'pay' }] } : `Result: ${toolResults[0]?.text ?? ''}`),
      {
        tools: {
          pay: toolOf(async () => {
            runs += 1
            begun.open()
            await finish.opened
            return 'paid'
          }),
        },
      },
    )
    const first = worlds.start()
    const sessionId = await first.open('support', 'pay')
    await begun.opened
    const stopped = first.stop()
    finish.open()
    await stopped
    const log = await worlds.start().until(sessionId, afterTurns(1))
    expect(log.find((event) => event.type === 'TURN_COMPLETED')).toMatchObject({ data: { output: 'Result: paid' } })
    expect(runs).toBe(1)
    await expectSound(worlds.store, sessionId)
  })
})

describe('a turn that loses its worker again and again', () => {
  test('fails at the fourth takeover, and the session takes the next message', async () => {
    let calls = 0
    const worlds = worldsOf(({ lastUserText }) => {
      calls += 1
      return lastUserText === 'again' ? 'Hello.' : { text: 'Dying', hang: true }
    })
    const front = worlds.start({ slots: 0 })
    const sessionId = await front.open('support', 'hello')
    for (let lives = 1; lives <= 4; lives += 1) {
      // Alive until its model has said something; then it is as if it had never been.
      const faulty = makeFaulty(worlds.store, 'appendEvents', 1, 'crash-after')
      worlds.start({ store: faulty.store })
      await faulty.crashed
      await worlds.store.releaseAll()
    }
    const last = worlds.start()
    const log = await last.until(sessionId, afterTurns(1))
    expect(log.find((event) => event.type === 'TURN_FAILED')).toMatchObject({ data: { error: { code: 'STEP_INTERRUPTED' } } })
    expect(calls).toBe(4)
    await last.send(sessionId, 'again')
    await last.until(sessionId, afterTurns(2))
    await expectSound(worlds.store, sessionId)
  })
})
