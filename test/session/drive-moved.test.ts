/** What another process delivers between an outcome and its commit. */
import { describe, expect, test } from 'vitest'
import { createIdSource, type SessionId } from '../../server/ids.js'
import type { DeliveryContent } from '../../server/session/deliveries.js'
import { expectSound } from '../support/expect-sound.js'
import { BOB } from '../support/world.js'
import { beforeCommit } from './interposed-store.js'
import { toolOf, useScriptedWorlds } from './scripted-worlds.js'
import { afterDeliveries, afterTurns, type Worlds } from './worlds.js'

const worldsOf = useScriptedWorlds()
const ids = createIdSource()

/** Durable, and nobody is woken. */
async function deliverUnseen({ store }: Worlds, sessionId: SessionId, content: DeliveryContent): Promise<void> {
  await store.deliver(sessionId, { id: ids.next('dlv'), by: BOB, content, acceptedAt: Date.now() }, null)
}

describe('a commit that is refused because something came (R4)', () => {
  test('loses no outcome: a message that came with the answer waits, the answer is committed, and the model is not asked again', async () => {
    const asked: string[] = []
    const worlds = worldsOf(({ lastUserText }) => {
      asked.push(lastUserText)
      return `Answer to ${lastUserText}.`
    })
    const moved = { times: 0 }
    const store = beforeCommit(worlds.store, async (session, commit) => {
      if (commit.closedTurn === null || moved.times > 0) return
      moved.times += 1
      await deliverUnseen(worlds, session.facts.id, { kind: 'MESSAGE', text: 'two', policy: 'QUEUE' })
    })
    const world = worlds.start({ store })
    const sessionId = await world.open('support', 'one')
    await world.until(sessionId, afterTurns(2))
    expect(asked).toEqual(['one', 'two'])
    const log = await expectSound(worlds.store, sessionId)
    const streamed = log.flatMap((event) => (event.type === 'LLM_CHUNK' ? [event.data.text] : []))
    expect(streamed.join('')).toBe('Answer to one.Answer to two.')
    await world.stop()
  })

  test('a cancel that came with the answer cancels the turn, and what the model said is kept', async () => {
    let asked = 0
    const worlds = worldsOf(() => {
      asked += 1
      return 'The whole answer.'
    })
    const store = beforeCommit(worlds.store, async (session, commit) => {
      if (commit.closedTurn?.status !== 'COMPLETED') return
      await deliverUnseen(worlds, session.facts.id, { kind: 'CANCEL', turnId: commit.closedTurn.id, dropQueued: false })
    })
    const world = worlds.start({ store })
    const sessionId = await world.open('support', 'one')
    const log = await world.until(sessionId, afterTurns(1))
    expect(asked).toBe(1)
    expect(log.find((event) => event.type === 'TURN_CANCELLED')).toMatchObject({ data: { output: 'The whole answer.' } })
    await expectSound(worlds.store, sessionId)
    await world.stop()
  })

  test('a cancel that came before the start of a tool was committed: the tool never runs', async () => {
    let ran = 0
    const worlds = worldsOf(({ step }) => (step === 0 ? { text: 'I will pay.', calls: [{ name: 'pay' }] } : 'unreachable'), {
      tools: { pay: toolOf(() => (ran += 1)) },
    })
    const store = beforeCommit(worlds.store, async (session, commit) => {
      if (commit.newCalls.length > 0) await deliverUnseen(worlds, session.facts.id, { kind: 'CANCEL', turnId: null, dropQueued: false })
    })
    const world = worlds.start({ store })
    const sessionId = await world.open('support', 'one')
    await world.until(sessionId, afterTurns(1))
    expect(ran).toBe(0)
    await expectSound(worlds.store, sessionId)
    await world.stop()
  })

  test('an end that came with the answer ends the session, and a message that came with it is rejected', async () => {
    const worlds = worldsOf(() => 'Bye.')
    const store = beforeCommit(worlds.store, async (session, commit) => {
      if (commit.closedTurn?.status !== 'COMPLETED') return
      await deliverUnseen(worlds, session.facts.id, { kind: 'MESSAGE', text: 'wait', policy: 'STEER' })
      await deliverUnseen(worlds, session.facts.id, { kind: 'END', reason: null })
    })
    const world = worlds.start({ store })
    const sessionId = await world.open('support', 'one')
    const log = await world.until(sessionId, afterDeliveries(3))
    expect(log.at(-1)?.type).toBe('SESSION_CANCELLED')
    expect(log.filter((event) => event.type === 'DELIVERY_SETTLED').map((event) => event.data.reason)).toEqual([null, null, 'ENDED'])
    await expectSound(worlds.store, sessionId)
    await world.stop()
  })
})
