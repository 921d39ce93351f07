/** Who has to allow a call: the tool's policy and the agent's rules, as one question of the heart. */
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { ApprovalPolicy, ApprovalRule } from '../../server/agents/approval.js'
import { defineAgent } from '../../server/agents/define-agent.js'
import { defineTool } from '../../server/agents/define-tool.js'
import { createRegistry } from '../../server/agents/registry.js'
import type { Json } from '../../server/errors.js'
import { scripted } from '../../server/models/scripted.js'
import type { ApprovalContext } from '../../server/session/agent-port.js'
import { createJudge } from '../../server/session/perform/judge-call.js'
import { createContext } from './tool-run.js'

interface Refund {
  readonly order: string
  readonly amount: number
}
interface Asked {
  readonly policy?: ApprovalPolicy<Refund>
  readonly rules?: readonly ApprovalRule[]
  readonly input?: Json
  readonly isGranted?: boolean
}

function define({ policy, rules = [] }: Asked) {
  const refund = defineTool({
    description: 'Refunds.',
    input: z.object({ order: z.string(), amount: z.number() }),
    label: ({ order }) => `a refund of order ${order}`,
    ...(policy === undefined ? {} : { approval: policy }),
    execute: () => 'done',
  })
  return defineAgent({ name: 'support', model: scripted(), instructions: 'Help.', tools: { refund_order: refund }, approvals: rules })
}

async function judge(asked: Asked) {
  const agent = createRegistry([define(asked)], () => scripted()).get('support')
  const tool = agent?.tools.get('refund_order')
  if (tool === undefined) throw new Error('there is one')
  const { session, turn, principal, callId, signal, log } = createContext(new AbortController().signal)
  const errors = vi.fn()
  const input = asked.input ?? { order: '7', amount: 50 }
  const context: ApprovalContext = {
    ...{ session, turn, principal, callId, signal, tool: 'refund_order', input, log: { ...log, error: errors } },
    isGranted: async () => asked.isGranted ?? false,
  }
  const judgement = await createJudge(() => context)(tool, { id: callId, input })
  return { ...judgement, errors }
}

describe('a tool', () => {
  test.each([
    ['never', false],
    ['always', true],
    ['once', true],
  ] as const)('that says %s is asked about: %s', async (policy, isAsked) => {
    const { ask, refusal } = await judge({ policy })
    expect(refusal).toBeNull()
    expect(ask !== null).toBe(isAsked)
    if (!isAsked) return
    expect(ask).toMatchObject({
      kind: 'APPROVAL',
      prompt: 'Allow a refund of order 7?',
      reviewers: [],
      onExpire: 'DENY',
      grants: policy === 'once',
    })
    expect(ask?.options.map(({ id }) => id)).toEqual(['approve', 'deny'])
  })

  test('that says once is not asked about again', async () => {
    expect(await judge({ policy: 'once', isGranted: true })).toMatchObject({ ask: null, refusal: null })
  })

  test('judges its call by the input, the person and the session', async () => {
    const policy = ({ input, principal, session }: ApprovalContext<Refund>) =>
      input.amount > 10 && principal.id === 'ada' && session.agent === 'support' ? ('ask' as const) : ('allow' as const)
    expect((await judge({ policy })).ask).not.toBeNull()
    expect((await judge({ policy, input: { order: '7', amount: 5 } })).ask).toBeNull()
  })

  test.each([
    ['deny', 'this call is not allowed; it was not run'],
    [{ deny: 'it is Sunday' }, 'this call is not allowed: it is Sunday; it was not run'],
  ] as const)('that says %j refuses it, and the model reads why', async (verdict, message) => {
    expect(await judge({ policy: () => verdict })).toMatchObject({ ask: null, refusal: { code: 'TOOL_DENIED', message } })
  })

  test('may say how to ask', async () => {
    const verdict = { ask: { prompt: 'Really?', reviewers: ['bob', 'role:manager'], expiresAfterMs: 5, onExpire: 'APPROVE' } } as const
    expect((await judge({ policy: async () => verdict })).ask).toMatchObject({
      prompt: 'Really?',
      reviewers: ['principal:bob', 'role:manager'],
      expiresAfterMs: 5,
      onExpire: 'APPROVE',
    })
  })

  test.each([
    ['throws', () => Promise.reject(new Error('the rules are offline'))],
    ['says nothing', () => undefined],
    ['says yes', () => true],
    ['asks nobody that there could be', () => ({ ask: { reviewers: 'everyone' } })],
  ])('whose policy %s does not run', async (_, policy) => {
    const loose: unknown = policy
    const { refusal, ask, errors } = await judge({ policy: loose as ApprovalPolicy<Refund> })
    expect(ask).toBeNull()
    expect(refusal?.code).toBe('TOOL_DENIED')
    expect(errors).toHaveBeenCalledOnce()
  })
})

describe('the rules of an agent', () => {
  const manager: ApprovalRule = {
    tool: 'refund_*',
    when: ({ input }) => (input as unknown as Refund).amount > 100,
    reviewers: ['role:manager'],
  }

  test('ask for the calls that match, by name and by condition, whatever the tool says', async () => {
    expect((await judge({ rules: [manager], input: { order: '7', amount: 101 } })).ask).toMatchObject({ reviewers: ['role:manager'] })
    expect((await judge({ rules: [manager] })).ask).toBeNull()
    expect((await judge({ rules: [{ ...manager, tool: 'refund' }], input: { order: '7', amount: 101 } })).ask).toBeNull()
    const granted = { policy: 'once', isGranted: true, rules: [manager], input: { order: '7', amount: 101 } } as const
    expect((await judge(granted)).ask).toMatchObject({ reviewers: ['role:manager'], grants: false })
  })

  test('the first that matches decides', async () => {
    const rules = [manager, { tool: '*', reviewers: ['bob'] }]
    expect((await judge({ rules, input: { order: '7', amount: 101 } })).ask?.reviewers).toEqual(['role:manager'])
    expect((await judge({ rules })).ask?.reviewers).toEqual(['principal:bob'])
  })

  test('leave denied what the tool denies', async () => {
    expect(await judge({ policy: () => 'deny', rules: [{ tool: '*' }] })).toMatchObject({ ask: null, refusal: { code: 'TOOL_DENIED' } })
  })

  test('whose condition or prompt fails ask all the same, those whom they name', async () => {
    const broken = (): never => {
      throw new Error('broken')
    }
    const { ask, errors } = await judge({ rules: [{ tool: '*', when: broken, prompt: broken, reviewers: ['bob'] }] })
    expect(ask).toMatchObject({ reviewers: ['principal:bob'], prompt: 'Allow a refund of order 7?' })
    expect(errors).toHaveBeenCalledTimes(2)
  })

  test.each([
    [{ tool: 'a.b' }, false],
    [{ tool: 'refund?order' }, false],
    [{ tool: '*order' }, true],
    [{ tool: 're*d*r' }, true],
  ])('%j matches refund_order: %s', async (rule, matches) => {
    expect((await judge({ rules: [rule] })).ask !== null).toBe(matches)
  })

  test.each([
    [[{ tool: 'x', reviewer: 'bob' }], 'agent "support": approvals[0]: there is no option "reviewer"; did you mean "reviewers"?'],
    [
      [{ tool: 'x', expiresAfterMs: 0 }],
      'agent "support": approvals[0]: expiresAfterMs must be a whole number of milliseconds over 0, not 0',
    ],
    [[{ tool: 'x', onExpire: 'ALLOW' }], 'agent "support": approvals[0]: onExpire must be \'APPROVE\' or \'DENY\', not "ALLOW"'],
    [[{ tool: 'x', reviewers: 'bob' }], "agent \"support\": approvals[0]: reviewers must be a list of ids, 'role:x' or 'scope:x'"],
    [[{ tool: '' }], 'agent "support": approvals[0]: tool must be a tool\'s name'],
    ['refund', 'agent "support": approvals must be a list of rules'],
  ])('%j is refused: %s', (rules, message) => {
    const loose: unknown = rules
    expect(() => define({ rules: loose as readonly ApprovalRule[] })).toThrow(message)
  })
})

test('what is shown of an agent tells its policies and rules', () => {
  const [shown] = createRegistry(
    [define({ policy: () => 'ask', rules: [{ tool: 'refund_*', description: 'Money.', reviewers: ['bob'] }] })],
    () => scripted(),
  ).describe()
  expect(shown?.tools).toMatchObject([{ kind: 'FUNCTION', approval: 'CONDITIONAL' }])
  expect(shown?.approvalRules).toEqual([
    { tool: 'refund_*', description: 'Money.', reviewers: ['principal:bob'], expiresAfterMs: null, onExpire: 'DENY' },
  ])
})
