/** A session that waits for people, driven by processes that come and go. */
import { describe, expect, test } from 'vitest'
import type { AgentOptions } from '../../server/agents/define-agent.js'
import { askUser } from '../../server/agents/ask-user.js'
import { defineTool } from '../../server/agents/define-tool.js'
import type { RequestId } from '../../server/ids.js'
import type { Conversation } from '../../server/models/script.js'
import type { RecordedEvent } from '../../server/session/events.js'
import { expectSound } from '../support/expect-sound.js'
import { ALICE, BOB } from '../support/world.js'
import { useScriptedWorlds } from './scripted-worlds.js'
import { afterTurns, createGate, typesOf } from './worlds.js'

const worldsOf = useScriptedWorlds()

interface AskedFor {
  readonly name: string
  readonly input?: unknown
}

/** Calls these tools once, then says what came of them. */
function calling(...calls: readonly AskedFor[]) {
  return ({ history }: Conversation) => {
    const results = history.flatMap((item) => (item.role === 'tool' ? [item.text] : []))
    return results.length === 0
      ? { calls: calls.map(({ name, input = {} }) => ({ name, rawInput: JSON.stringify(input) })) }
      : results.join(' | ')
  }
}

function createPay(approval: 'always' | 'once' | 'never' = 'always') {
  const runs: unknown[] = []
  const pay = defineTool({
    description: 'Pays.',
    input: { type: 'object' },
    approval,
    execute: (input, { principal }) => {
      runs.push(input)
      return `paid for ${principal.id}`
    },
  })
  return { pay, runs }
}

function requestsOf(log: readonly RecordedEvent[]): readonly RequestId[] {
  return log.flatMap((event) => (event.type === 'APPROVAL_REQUESTED' || event.type === 'INPUT_REQUESTED' ? [event.data.request] : []))
}
const outputOf = (log: readonly RecordedEvent[]) =>
  log.flatMap((event) => (event.type === 'TURN_COMPLETED' ? [event.data.output] : [])).at(-1)
const isWaiting = (log: readonly RecordedEvent[]) => typesOf(log).at(-1) === 'TURN_WAITING'

async function started(options: Partial<AgentOptions>, calls: readonly AskedFor[]) {
  const worlds = worldsOf(calling(...calls), options)
  const world = worlds.start()
  const sessionId = await world.open('support', 'go')
  const log = await world.until(sessionId, isWaiting)
  return { worlds, world, sessionId, log, requests: requestsOf(log) }
}

describe('a call that needs leave', () => {
  test('waits through the death of every process, and runs once, as its requester, with what was shown', async () => {
    const { pay, runs } = createPay()
    const { worlds, world, sessionId, requests } = await started({ tools: { pay } }, [{ name: 'pay', input: { euros: 5 } }])
    await world.stop()
    const other = worlds.start()
    await other.respond(
      sessionId,
      requests.map((requestId) => ({ requestId, decision: 'APPROVE', reason: 'fine' })),
      BOB,
    )
    const log = await other.until(sessionId, afterTurns(1))
    expect(runs).toEqual([{ euros: 5 }])
    expect(outputOf(log)).toBe('paid for alice')
    expect(log.find(({ type }) => type === 'APPROVAL_RESOLVED')).toMatchObject({
      data: { decision: 'APPROVE', by: { id: 'bob' }, reason: 'fine' },
    })
    expect(typesOf(log).slice(typesOf(log).indexOf('TURN_WAITING'))).toEqual(
      expect.arrayContaining(['TURN_WAITING', 'TURN_RESUMED', 'TOOL_CALL_START', 'TOOL_CALL_END', 'TURN_COMPLETED', 'SESSION_WAITING']),
    )
    await expectSound(worlds.store, sessionId)
  })

  test('does not run when it is denied, and the model reads why', async () => {
    const { pay, runs } = createPay()
    const { worlds, world, sessionId, requests } = await started({ tools: { pay } }, [{ name: 'pay' }])
    await world.respond(
      sessionId,
      requests.map((requestId) => ({ requestId, decision: 'DENY', reason: 'too "dear"' })),
    )
    const log = await world.until(sessionId, afterTurns(1))
    expect(runs).toEqual([])
    expect(outputOf(log)).toBe('a person did not allow this call, and said: "too \\"dear\\""; it was not run')
    expect(log.find(({ type }) => type === 'TOOL_CALL_END')).toMatchObject({ data: { status: 'DENIED', error: { code: 'TOOL_DENIED' } } })
    await expectSound(worlds.store, sessionId)
  })

  test('of several: each answer counts for its own, beside calls that need none, and the model is asked when all have a result', async () => {
    const { pay, runs } = createPay()
    const gate = createGate()
    const look = defineTool({ description: 'Looks.', input: { type: 'object' }, execute: () => gate.opened.then(() => 'seen') })
    const worlds = worldsOf(calling({ name: 'pay', input: { n: 1 } }, { name: 'look' }, { name: 'pay', input: { n: 2 } }), {
      tools: { pay, look },
    })
    const world = worlds.start()
    const sessionId = await world.open('support', 'go')
    const [first, second] = requestsOf(await world.until(sessionId, (log) => requestsOf(log).length === 2))
    if (first === undefined || second === undefined) throw new Error('two were asked')
    await world.respond(sessionId, [{ requestId: second, decision: 'APPROVE' }])
    await world.until(sessionId, (log) => typesOf(log).includes('TOOL_CALL_END'))
    gate.open()
    await world.until(sessionId, isWaiting)
    expect(runs).toEqual([{ n: 2 }])
    await world.stop()
    const other = worlds.start()
    await other.respond(sessionId, [{ requestId: first, decision: 'DENY' }])
    const log = await other.until(sessionId, afterTurns(1))
    expect(outputOf(log)).toBe('a person did not allow this call; it was not run | seen | paid for alice')
    expect(log.filter(({ type }) => type === 'STEP_STARTED')).toHaveLength(2)
    await expectSound(worlds.store, sessionId)
  })

  test('is withdrawn by what the person says instead, which the model reads after it', async () => {
    const { pay, runs } = createPay()
    const { worlds, world, sessionId } = await started({ tools: { pay } }, [{ name: 'pay' }])
    await world.queue(sessionId, 'never mind')
    const log = await world.until(sessionId, afterTurns(1))
    expect(runs).toEqual([])
    expect(log.filter(({ type }) => type === 'TURN_STARTED')).toHaveLength(1)
    expect((await worlds.store.loadHistory(sessionId, 0)).map(({ role, text }) => `${role}: ${text}`)).toEqual([
      'user: go',
      'assistant: ',
      'tool: this call was withdrawn: the person said something else instead; it was not run',
      'user: never mind',
      'assistant: this call was withdrawn: the person said something else instead; it was not run',
    ])
    await expectSound(worlds.store, sessionId)
  })

  test("is not touched by somebody else's words, which wait for their own turn", async () => {
    const { pay, runs } = createPay()
    const { worlds, world, sessionId } = await started({ tools: { pay } }, [{ name: 'pay' }])
    await world.send(sessionId, 'approve', BOB)
    await world.send(sessionId, 'approve', ALICE)
    const log = await world.until(sessionId, afterTurns(2))
    expect(runs).toHaveLength(1)
    expect(log.find(({ type }) => type === 'APPROVAL_RESOLVED')).toMatchObject({ data: { by: { id: 'alice' } } })
    expect(log.flatMap((event) => (event.type === 'TURN_STARTED' ? [event.data.principal.id] : []))).toEqual(['alice', 'bob'])
    await expectSound(worlds.store, sessionId)
  })

  test('cancelled right after it was allowed runs once or not at all, and is told', async () => {
    const { pay, runs } = createPay()
    const { worlds, world, sessionId, requests } = await started({ tools: { pay } }, [{ name: 'pay' }])
    await Promise.all([
      world.respond(
        sessionId,
        requests.map((requestId) => ({ requestId, decision: 'APPROVE' })),
      ),
      world.cancel(sessionId),
    ])
    const log = await world.until(sessionId, afterTurns(1))
    const starts = typesOf(log).filter((type) => type === 'TOOL_CALL_START').length
    expect(runs).toHaveLength(starts)
    expect(log.filter(({ type }) => type === 'DELIVERY_SETTLED')).toHaveLength(3)
    await expectSound(worlds.store, sessionId)
  })

  test('that nobody allows in time does not run; with onExpire APPROVE it does', async () => {
    for (const [onExpire, count] of [
      ['DENY', 0],
      ['APPROVE', 1],
    ] as const) {
      const { pay, runs } = createPay('never')
      const worlds = worldsOf(calling({ name: 'pay' }), { tools: { pay }, approvals: [{ tool: 'p*', expiresAfterMs: 30, onExpire }] })
      const world = worlds.start()
      const sessionId = await world.open('support', 'go')
      const log = await world.until(sessionId, afterTurns(1))
      expect(runs).toHaveLength(count)
      expect(log.find(({ type }) => type === 'APPROVAL_RESOLVED')).toMatchObject({
        data: { outcome: 'EXPIRED', decision: onExpire, by: null },
      })
      await expectSound(worlds.store, sessionId)
    }
  })

  test('is asked for once when its tool says so, for this person and session', async () => {
    const { pay, runs } = createPay('once')
    const worlds = worldsOf(({ history }) => (history.at(-1)?.role === 'user' ? { calls: [{ name: 'pay' }] } : 'Done.'), { tools: { pay } })
    const world = worlds.start()
    const sessionId = await world.open('support', 'one')
    const [requestId] = requestsOf(await world.until(sessionId, isWaiting))
    if (requestId === undefined) throw new Error('it was asked')
    await world.respond(sessionId, [{ requestId, decision: 'APPROVE' }])
    await world.until(sessionId, afterTurns(1))
    await world.send(sessionId, 'two')
    await world.until(sessionId, afterTurns(2))
    expect(runs).toHaveLength(2)
    await world.send(sessionId, 'three', BOB)
    expect(requestsOf(await world.until(sessionId, isWaiting))).toHaveLength(2)
    await world.cancel(sessionId)
    await world.until(sessionId, afterTurns(3))
    await expectSound(worlds.store, sessionId)
  })
})

describe('a question', () => {
  test.each([
    [{ text: '' }, '{"text":""}'],
    [{ json: 0 }, '{"json":0}'],
    [{ json: false }, '{"json":false}'],
    [{ optionIds: ['option-2'] }, '{"selected":["Green"]}'],
  ])('answered with %j gives the model %s', async (answer, output) => {
    const question = { question: 'Which?', options: [{ label: 'Red' }, { label: 'Green' }], allow_text: true }
    const { worlds, world, sessionId, requests } = await started({ tools: { ask_user: askUser() } }, [
      { name: 'ask_user', input: question },
    ])
    await world.respond(
      sessionId,
      requests.map((requestId) => ({ requestId, ...answer })),
    )
    expect(outputOf(await world.until(sessionId, afterTurns(1)))).toBe(output)
    await expectSound(worlds.store, sessionId)
  })

  test('is answered by a plain message, which is no message of the conversation', async () => {
    const question = { question: 'Which?', options: [{ label: 'Red' }, { label: 'Green' }] }
    const { worlds, world, sessionId } = await started({ tools: { ask_user: askUser() } }, [{ name: 'ask_user', input: question }])
    await world.send(sessionId, '2')
    const log = await world.until(sessionId, afterTurns(1))
    expect(outputOf(log)).toBe('{"selected":["Green"]}')
    expect(typesOf(log).filter((type) => type === 'MESSAGE_RECEIVED')).toHaveLength(1)
    await expectSound(worlds.store, sessionId)
  })

  test('that nobody answers in time is told so', async () => {
    const worlds = worldsOf(calling({ name: 'ask_user', input: { question: 'Well?' } }), {
      tools: { ask_user: askUser({ expiresAfterMs: 30 }) },
    })
    const world = worlds.start()
    const sessionId = await world.open('support', 'go')
    const log = await world.until(sessionId, afterTurns(1))
    expect(outputOf(log)).toBe('nobody answered in time; go on without an answer, or ask again')
    await expectSound(worlds.store, sessionId)
  })
})
