/** Events of what a session asks of people: each request is opened once, and resolved or taken back once. */
import type { AuthorizationOutcome as Outcome } from '../../session/events.js'
import { builder } from '../builder.js'
import { ApprovalDecision, InputRequestKind, InputRequestStatus } from './enums.js'
import { eventRef, SessionEvent } from './event.js'
import { Principal } from './facts.js'
import { InputOption } from './input-option.js'

const REQUEST = 'The request; `node` finds it.'
const CALL = 'The call that it is about; null: the turn.'
const PROMPT = 'What the person reads.'
const REVIEWERS = 'Who may answer: `principal:x`, `role:x` or `scope:x`. Empty: whom the turn serves.'
const EXPIRES_AT = 'When it is too late to answer; null: not while the turn is open.'
const BY = 'Who answered; null: nobody did.'
const REASON = 'In the words of who answered, or why nobody did.'

const AuthorizationOutcome = builder.enumType('AuthorizationOutcome', {
  description: 'How a sign-in ended.',
  values: {
    AUTHORIZED: { description: 'Somebody has signed in.' },
    DECLINED: { description: 'Somebody will not, or it is not wanted any more.' },
    FAILED: { description: 'It did not work.' },
    TIMED_OUT: { description: 'Nobody did in time.' },
  } satisfies { readonly [Each in Outcome]: { readonly description: string } },
})

eventRef('APPROVAL_REQUESTED').implement({
  description: 'Somebody has to allow a call before it runs.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    request: t.id({ description: REQUEST, resolve: ({ data }) => data.request }),
    callId: t.id({ nullable: true, description: CALL, resolve: ({ data }) => data.callId }),
    name: t.string({ description: 'The tool.', resolve: ({ data }) => data.name }),
    input: t.field({ type: 'JSON', nullable: true, description: 'The arguments, as they will be.', resolve: ({ data }) => data.input }),
    prompt: t.string({ description: PROMPT, resolve: ({ data }) => data.prompt }),
    reviewers: t.stringList({ description: REVIEWERS, resolve: ({ data }) => data.reviewers }),
    expiresAt: t.field({ type: 'DateTime', nullable: true, description: EXPIRES_AT, resolve: ({ data }) => data.expiresAt }),
  }),
})

eventRef('APPROVAL_RESOLVED').implement({
  description: 'A call was allowed or denied, also because nobody decided in time.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    request: t.id({ description: REQUEST, resolve: ({ data }) => data.request }),
    outcome: t.field({ type: InputRequestStatus, description: 'ANSWERED or EXPIRED.', resolve: ({ data }) => data.outcome }),
    decision: t.field({ type: ApprovalDecision, description: 'What it comes to.', resolve: ({ data }) => data.decision }),
    by: t.field({ type: Principal, nullable: true, description: BY, resolve: ({ data }) => data.by }),
    reason: t.string({ nullable: true, description: REASON, resolve: ({ data }) => data.reason }),
  }),
})

eventRef('APPROVAL_CANCELLED').implement({
  description: 'Nobody needs to decide on a call any more.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    request: t.id({ description: REQUEST, resolve: ({ data }) => data.request }),
    reason: t.string({ description: 'Why it was withdrawn.', resolve: ({ data }) => data.reason }),
  }),
})

eventRef('INPUT_REQUESTED').implement({
  description: 'The session asks a question, or whether to go on over a budget.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    request: t.id({ description: REQUEST, resolve: ({ data }) => data.request }),
    kind: t.field({ type: InputRequestKind, description: 'QUESTION or LIMIT.', resolve: ({ data }) => data.kind }),
    callId: t.id({ nullable: true, description: CALL, resolve: ({ data }) => data.callId }),
    prompt: t.string({ description: PROMPT, resolve: ({ data }) => data.prompt }),
    options: t.field({ type: [InputOption], description: 'What can be chosen.', resolve: ({ data }) => data.options }),
    minSelections: t.int({ description: 'So many have to be chosen.', resolve: ({ data }) => data.minSelections }),
    maxSelections: t.int({ description: 'So many may be chosen.', resolve: ({ data }) => data.maxSelections }),
    allowsText: t.boolean({ description: "Whether words of one's own are an answer.", resolve: ({ data }) => data.allowsText }),
    reviewers: t.stringList({ description: REVIEWERS, resolve: ({ data }) => data.reviewers }),
    expiresAt: t.field({ type: 'DateTime', nullable: true, description: EXPIRES_AT, resolve: ({ data }) => data.expiresAt }),
  }),
})

eventRef('INPUT_RESOLVED').implement({
  description: 'A question was answered, or is not open any more.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    request: t.id({ description: REQUEST, resolve: ({ data }) => data.request }),
    outcome: t.field({ type: InputRequestStatus, description: 'ANSWERED, EXPIRED or CANCELLED.', resolve: ({ data }) => data.outcome }),
    optionIds: t.stringList({ description: 'What was chosen.', resolve: ({ data }) => data.optionIds }),
    text: t.string({ nullable: true, description: 'What was said.', resolve: ({ data }) => data.text }),
    json: t.field({ type: 'JSON', nullable: true, description: 'What was given as JSON.', resolve: ({ data }) => data.json }),
    by: t.field({ type: Principal, nullable: true, description: BY, resolve: ({ data }) => data.by }),
    reason: t.string({ nullable: true, description: REASON, resolve: ({ data }) => data.reason }),
  }),
})

eventRef('AUTHORIZATION_REQUIRED').implement({
  description: 'Somebody has to sign in.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    request: t.id({ description: REQUEST, resolve: ({ data }) => data.request }),
    callId: t.id({ nullable: true, description: CALL, resolve: ({ data }) => data.callId }),
    prompt: t.string({ description: PROMPT, resolve: ({ data }) => data.prompt }),
    url: t.string({ nullable: true, description: 'Where to sign in.', resolve: ({ data }) => data.url }),
    reviewers: t.stringList({ description: REVIEWERS, resolve: ({ data }) => data.reviewers }),
    expiresAt: t.field({ type: 'DateTime', nullable: true, description: EXPIRES_AT, resolve: ({ data }) => data.expiresAt }),
  }),
})

eventRef('AUTHORIZATION_COMPLETED').implement({
  description: 'Somebody has signed in, or will not.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    request: t.id({ description: REQUEST, resolve: ({ data }) => data.request }),
    outcome: t.field({ type: AuthorizationOutcome, description: 'How it ended.', resolve: ({ data }) => data.outcome }),
    by: t.field({ type: Principal, nullable: true, description: BY, resolve: ({ data }) => data.by }),
    reason: t.string({ nullable: true, description: REASON, resolve: ({ data }) => data.reason }),
  }),
})
