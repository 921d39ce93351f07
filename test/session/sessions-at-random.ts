/** What people, models, tools and crashes may do to a session, at random; and an agent that does as its messages say. */
import fc from 'fast-check'
import { askUser } from '../../server/agents/ask-user.js'
import { defineAgent } from '../../server/agents/define-agent.js'
import { defineTool } from '../../server/agents/define-tool.js'
import { scripted, scriptedFailure } from '../../server/models/scripted.js'
import type { Conversation, ScriptedAnswer, ScriptedReply } from '../../server/models/script.js'
import { ALICE, BOB } from '../support/given.js'
import type { Fault, FaultyWrite } from '../support/faulty-store.js'
import { TURN_POLICIES, type TurnPolicy } from '../../server/session/deliveries.js'
import type { Principal } from '../../server/session/principal.js'
import type { Gate } from './worlds.js'

const BEHAVIOURS = [
  'answer',
  'stream',
  'tools',
  'bad-calls',
  'fail-once',
  'fail-always',
  'refuse',
  'hang',
  'ask',
  'ask-quickly',
  'question',
] as const
type Behaviour = (typeof BEHAVIOURS)[number]

export type Action =
  | { readonly kind: 'send'; readonly by: Principal; readonly behaviour: Behaviour; readonly policy: TurnPolicy }
  /** A message that may answer a request in words. */
  | { readonly kind: 'say'; readonly by: Principal; readonly text: string; readonly policy: TurnPolicy }
  /** Answers this one of the open requests, and the next one with it; some of it has been answered already. */
  | { readonly kind: 'respond'; readonly by: Principal; readonly which: number; readonly count: number; readonly isApproved: boolean }
  | { readonly kind: 'cancel'; readonly dropQueued: boolean }
  | { readonly kind: 'clear' | 'compact' | 'end' }
  /** Lets this many macrotasks pass. */
  | { readonly kind: 'pass'; readonly ticks: number }
export interface Failing {
  readonly write: FaultyWrite
  readonly at: number
  readonly fault: Fault
}
export interface Life {
  readonly actions: readonly Action[]
  /** One for each process that drives the session, in turn; the last one is healthy. */
  readonly failures: readonly Failing[]
  /** Which claims, from 1, find that too many before them led nowhere. */
  readonly stalls: readonly number[]
}

const send = fc.record({
  kind: fc.constant('send' as const),
  by: fc.constantFrom(ALICE, BOB),
  behaviour: fc.constantFrom(...BEHAVIOURS),
  policy: fc.constantFrom(...TURN_POLICIES),
})
const say = fc.record({
  kind: fc.constant('say' as const),
  by: fc.constantFrom(ALICE, BOB),
  text: fc.constantFrom('approve', '2', 'deny'),
  policy: fc.constantFrom(...TURN_POLICIES),
})
const respond = fc.record({
  kind: fc.constant('respond' as const),
  by: fc.constantFrom(ALICE, BOB),
  which: fc.nat({ max: 3 }),
  count: fc.integer({ min: 1, max: 2 }),
  isApproved: fc.boolean(),
})
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 8, arbitrary: send },
  { weight: 2, arbitrary: say },
  { weight: 5, arbitrary: respond },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('cancel' as const), dropQueued: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('clear' as const, 'compact' as const) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'end' as const }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('pass' as const), ticks: fc.integer({ min: 1, max: 12 }) }) },
)
const at = fc.integer({ min: 1, max: 8 })
const failing: fc.Arbitrary<Failing> = fc.oneof(
  fc.record({
    write: fc.constantFrom('commit', 'appendEvents'),
    at,
    fault: fc.constantFrom('not-applied', 'reply-lost', 'crash-before', 'crash-after'),
  }),
  fc.record({ write: fc.constant('claim'), at, fault: fc.constantFrom('not-applied', 'crash-before', 'crash-after') }),
)
/** Every life has these, in some order among the others: a call that waits for leave, a denial, a cancel, a message that steers. */
const always: fc.Arbitrary<readonly Action[]> = fc.tuple(
  fc.constant<Action>({ kind: 'send', by: ALICE, behaviour: 'ask', policy: 'STEER' }),
  respond.map((given): Action => ({ ...given, by: ALICE, isApproved: false })),
  fc.record({ kind: fc.constant('cancel' as const), dropQueued: fc.boolean() }),
  send.map((given): Action => ({ ...given, by: ALICE, policy: 'STEER' })),
)
const crash = failing.filter(({ fault }) => fault === 'crash-before' || fault === 'crash-after')

export const life: fc.Arbitrary<Life> = fc.record({
  actions: fc
    .tuple(fc.array(action, { maxLength: 10 }), always, fc.array(fc.nat({ max: 13 }), { minLength: 4, maxLength: 4 }))
    .map(([others, given, places]) =>
      given.reduce((all, one, index) => all.toSpliced((places[index] ?? 0) % (all.length + 1), 0, one), others),
    ),
  failures: fc.tuple(crash, fc.array(failing, { maxLength: 3 })).map(([first, others]) => [first, ...others]),
  stalls: fc.array(at, { maxLength: 2 }),
})

/** `release` ends every hanging call. `runs` names each run of the tool that must not run twice. */
export function createObedientAgent(release: Gate) {
  const runs: string[] = []
  const failed = new Set<string>()
  const pay = defineTool({ description: 'Pays.', input: { type: 'object' }, execute: (_, { callId }) => runs.push(callId) })
  const look = defineTool({ description: 'Looks.', input: { type: 'object' }, idempotent: true, execute: () => 'seen' })
  const broken = defineTool({
    description: 'Breaks.',
    input: { type: 'object' },
    sequential: true,
    execute: () => {
      throw new Error('it broke')
    },
  })

  const guarded = defineTool({
    description: 'Pays when it may.',
    input: { type: 'object' },
    approval: 'always',
    execute: (_, { callId }) => runs.push(callId),
  })

  function reply(conversation: Conversation): ScriptedReply {
    const { lastUserText: text, step } = conversation
    switch (text.split(' ')[0]) {
      case 'stream':
        return stream(conversation)
      case 'tools':
        return step === 0 ? { text: 'Working.', calls: ['pay', 'broken', 'look'].map((name) => ({ name })) } : 'Worked.'
      case 'bad-calls':
        return step === 0 ? { calls: [{ name: 'unheard-of' }, { name: 'pay', rawInput: '{"half' }] } : 'Never mind.'
      case 'fail-once':
        if (failed.has(text)) return 'Second time lucky.'
        failed.add(text)
        return { text: 'I was', fail: scriptedFailure('MODEL_UNAVAILABLE', { retryAfterMs: 1 }) }
      case 'fail-always':
        return { fail: scriptedFailure('MODEL_UNAVAILABLE', { retryAfterMs: 0 }) }
      case 'refuse':
        return { text: 'No.', finish: 'REFUSAL' }
      case 'hang':
        return hang(conversation)
      case 'ask':
        return step === 0 ? { text: 'May I?', calls: ['guarded', 'look', 'guarded'].map((name) => ({ name })) } : 'So be it.'
      case 'ask-quickly':
        return step === 0 ? { calls: ['quick', 'pay'].map((name) => ({ name })) } : 'So be it.'
      case 'question':
        return step < 2
          ? { calls: [{ name: 'ask_user', input: { question: 'Well?', options: [{ label: 'A' }, { label: 'B' }] } }] }
          : 'I see.'
      default:
        return `Answer to ${text}.`
    }
  }

  async function* stream({ wait }: Conversation): AsyncGenerator<ScriptedAnswer> {
    yield { reasoning: 'Hm. ', text: 'One ' }
    await wait(1)
    yield { text: 'two.' }
  }
  async function* hang({ signal }: Conversation): AsyncGenerator<ScriptedAnswer> {
    yield { text: 'Well… ' }
    await Promise.race([release.opened, new Promise((resolve) => signal.addEventListener('abort', resolve))])
    yield { text: 'then.' }
  }

  const agent = defineAgent({
    name: 'support',
    model: scripted(reply),
    instructions: 'Obey.',
    tools: { pay, look, broken, guarded, quick: look, ask_user: askUser() },
    approvals: [{ tool: 'quick', expiresAfterMs: 5, onExpire: 'APPROVE' }],
    limits: { cancelGraceMs: 20 },
  })
  return { agent, runs }
}
