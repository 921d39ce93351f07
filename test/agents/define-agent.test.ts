import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent, isAgent, type AgentOptions } from '../../server/agents/define-agent.js'
import { defineTool } from '../../server/agents/define-tool.js'
import { scripted } from '../../server/models/scripted.js'

const good: AgentOptions = { name: 'support', model: 'openai/gpt-5-mini', instructions: 'Help.' }
const tool = defineTool({ description: 'd', input: z.object({}), execute: () => null })

/** What an author without a type checker may write. */
function defineLoose(options: unknown): unknown {
  return Reflect.apply(defineAgent, null, [options])
}

describe('an agent', () => {
  test('has the defaults that it does not set', () => {
    expect(defineAgent(good)).toMatchObject({
      name: 'support',
      description: null,
      limits: { maxIterationsPerTurn: 200, turnTimeoutMs: 1_800_000, cancelGraceMs: 10_000, sessionTimeoutMs: 30 * 24 * 3600_000 },
    })
    expect(defineAgent({ ...good, limits: { cancelGraceMs: 0 } }).limits).toEqual({
      maxIterationsPerTurn: 200,
      turnTimeoutMs: 1_800_000,
      cancelGraceMs: 0,
      sessionTimeoutMs: 30 * 24 * 3600_000,
      maxInputTokensPerSession: null,
      maxOutputTokensPerSession: null,
      maxCostUsdPerSession: null,
    })
    expect(defineAgent({ ...good, limits: { sessionTimeoutMs: null } }).limits.sessionTimeoutMs).toBeNull()
  })

  test('has its tools by name, a client as its model, and cannot be changed', () => {
    const model = scripted(() => 'hi')
    const agent = defineAgent({ ...good, model, tools: { look_up: tool, refund: tool } })
    expect([...agent.tools.keys()]).toEqual(['look_up', 'refund'])
    expect(agent.model).toBe(model)
    expect(Object.isFrozen(agent)).toBe(true)
  })

  test('is told from what only looks like one', () => {
    expect(isAgent(defineAgent(good))).toBe(true)
    expect([good, null, undefined, 'support'].map(isAgent)).toEqual([false, false, false, false])
  })
})

describe('a wrong definition', () => {
  const named = 'agent "support": '
  test.each<[string, unknown, string]>([
    ['no object', undefined, 'give defineAgent one object: { name, model, instructions }'],
    [
      'no name',
      { ...good, name: undefined },
      'an agent has no name; use lower-case letters, digits and dashes, at most 64, e.g. name: "support"',
    ],
    [
      'a name in capitals',
      { ...good, name: 'FrontDesk 2' },
      '"FrontDesk 2" is no name for an agent; use lower-case letters, digits and dashes, at most 64, e.g. name: "front-desk-2"',
    ],
    [
      'a name that begins with a digit',
      { ...good, name: '2nd' },
      '"2nd" is no name for an agent; use lower-case letters, digits and dashes, at most 64, e.g. name: "nd"',
    ],
    ['a misspelt option', { ...good, instuctions: '' }, `${named}there is no option "instuctions"; did you mean "instructions"?`],
    [
      'an option like no other',
      { ...good, temperature: 1 },
      `${named}there is no option "temperature"; there are name, description, model, instructions, mode, tools, approvals, hooks, limits`,
    ],
    [
      'no model',
      { ...good, model: undefined },
      `${named}model must be a text such as "openai/gpt-5-mini", or a client such as scripted(…) or openaiChat(…)`,
    ],
    ['no instructions', { ...good, instructions: 7 }, `${named}instructions must be a text, or a function that gives one`],
    [
      'a list of tools',
      { ...good, tools: [tool] },
      `${named}tools must be an object of names and tools, e.g. tools: { look_up_order: defineTool(…) }`,
    ],
    [
      'a tool that is none',
      { ...good, tools: { refund: { description: 'd' } } },
      `${named}tool "refund" is not made by defineTool; write refund: defineTool({ description, input, execute })`,
    ],
    [
      'a tool with a space',
      { ...good, tools: { 'look up': tool } },
      `${named}"look up" is no name for a tool; use letters, digits, _ and -, at most 64, e.g. look_up`,
    ],
    [
      'a misspelt limit',
      { ...good, limits: { turnTimeout: 1 } },
      `${named}limits: there is no option "turnTimeout"; did you mean "turnTimeoutMs"?`,
    ],
    [
      'no time to be idle',
      { ...good, limits: { sessionTimeoutMs: 0 } },
      `${named}limits.sessionTimeoutMs must be a whole number of at least 1, or null for never, not 0`,
    ],
    [
      'a hook on nothing',
      { ...good, hooks: { 'turn.complete': () => undefined } },
      `${named}hooks: there is no option "turn.complete"; did you mean "turn.completed"?`,
    ],
    [
      'a hook that is none',
      { ...good, hooks: { 'turn.completed': 'log it' } },
      `${named}hooks: "turn.completed" must be a function of (event, { session, log })`,
    ],
    [
      'hooks in a list',
      { ...good, hooks: [] },
      `${named}hooks must be an object of events and functions, e.g. hooks: { 'turn.completed': (event) => … }`,
    ],
    ['an unknown mode', { ...good, mode: 'JOB' }, `${named}mode must be CONVERSATION or TASK, not JOB`],
    [
      'no iterations',
      { ...good, limits: { maxIterationsPerTurn: 0 } },
      `${named}limits.maxIterationsPerTurn must be a whole number of at least 1, not 0`,
    ],
  ])('with %s is refused by name, with the mend', (_, options, message) => {
    expect(() => defineLoose(options)).toThrow(expect.objectContaining({ name: 'PerdureError', code: 'AGENT_INVALID', message }))
  })

  test('of a tool names the agent and the tool', () => {
    const broken = defineTool({ description: 'd', input: z.object({ at: z.date() }), execute: () => null })
    expect(() => defineAgent({ ...good, tools: { refund: broken } })).toThrow(
      expect.objectContaining({
        code: 'TOOL_INVALID',
        message: expect.stringMatching(/^agent "support", tool "refund": the input schema cannot be used/),
      }),
    )
  })
})
