/** What mutations take. What the types cannot say is checked in input-checks.ts. */
import { builder } from '../builder.js'
import { MAX_ADDRESSES, MAX_ANSWERS, MAX_HISTORY, MAX_KEY, MAX_METADATA_BYTES, MAX_REASON, MAX_TEXT, MAX_TITLE } from '../limits.js'
import { ApprovalDecision, PrincipalKind, SessionMode, TurnPolicy } from './enums.js'
import { TranscriptRole } from './transcript.js'

const KEY = `Makes repeating safe: the same key gives the first effect again, whatever became of it. At most ${MAX_KEY} characters. Example: \`"order-1042"\``

export const SessionRef = builder.inputType('SessionRef', {
  description: 'A session, by its id or by an address that it holds. Example: `{ address: "slack:C042" }`',
  isOneOf: true,
  fields: (t) => ({
    id: t.id({ description: 'Its id. Example: `"ses_01jd9x0k3vf8h8s6q2m4n7p9r1"`' }),
    address: t.string({ description: 'An address that it holds. Example: `"slack:C042"`' }),
  }),
})

const TranscriptMessageInput = builder.inputType('TranscriptMessageInput', {
  description: 'Something that was said before. Example: `{ role: USER, text: "My order is late." }`',
  fields: (t) => ({
    role: t.field({ type: TranscriptRole, required: true, description: 'Who said it. Example: `USER`' }),
    text: t.string({ required: true, description: 'What was said. Example: `"My order is late."`' }),
  }),
})

const NewSessionInput = builder.inputType('NewSessionInput', {
  description: 'A session to create. Example: `{ agent: "support", title: "Order 1042", addresses: ["slack:C042"] }`',
  fields: (t) => ({
    agent: t.string({ required: true, description: 'Name of the agent. Example: `"support"`' }),
    mode: t.field({ type: SessionMode, description: 'How long it lasts; null: as the agent has it. Example: `TASK`' }),
    sessionTimeoutMs: t.field({
      type: 'SafeInt',
      description: 'How long it may be idle, milliseconds; 0: for ever, null: as the agent has it. Example: `86400000`',
    }),
    title: t.string({ description: `What people call it, at most ${MAX_TITLE} characters. Example: \`"Order 1042"\`` }),
    metadata: t.field({
      type: 'JSONObject',
      description: `Anything that belongs to it, at most ${MAX_METADATA_BYTES} bytes of JSON; tools read it too. Example: \`{ order: 1042 }\``,
    }),
    addresses: t.stringList({
      required: true,
      defaultValue: [],
      description: `Addresses to hold, \`channel:value\`, at most ${MAX_ADDRESSES}; one that is taken is ADDRESS_TAKEN. Example: \`["slack:C042"]\``,
    }),
    history: t.field({
      type: [TranscriptMessageInput],
      required: true,
      defaultValue: [],
      description: `An earlier conversation, oldest first, at most ${MAX_HISTORY} messages. Example: \`[{ role: USER, text: "Hello" }]\``,
    }),
  }),
})

const AddressTargetInput = builder.inputType('AddressTargetInput', {
  description: 'Whichever session holds an address. Example: `{ address: "slack:C042", create: { agent: "support" } }`',
  fields: (t) => ({
    address: t.string({ required: true, description: 'The address, `channel:value`. Example: `"slack:C042"`' }),
    create: t.field({
      type: NewSessionInput,
      description: 'Created when nobody holds the address, and ignored when somebody does. Example: `{ agent: "support" }`',
    }),
  }),
})

const SendTarget = builder.inputType('SendTarget', {
  description: 'Where a message goes. Example: `{ create: { agent: "support" } }`',
  isOneOf: true,
  fields: (t) => ({
    session: t.id({ description: 'To this session. Example: `"ses_01jd9x0k3vf8h8s6q2m4n7p9r1"`' }),
    address: t.field({ type: AddressTargetInput, description: 'To whichever holds an address. Example: `{ address: "slack:C042" }`' }),
    create: t.field({ type: NewSessionInput, description: 'To a new session. Example: `{ agent: "support" }`' }),
  }),
})

const MessageInput = builder.inputType('MessageInput', {
  description: 'What is said. Example: `{ text: "Where is my order?" }`',
  isOneOf: true,
  fields: (t) => ({
    text: t.string({ description: `Plain text, at most ${MAX_TEXT} characters. Example: \`"Where is my order?"\`` }),
  }),
})

const ActorInput = builder.inputType('ActorInput', {
  description:
    'For whom a program speaks that has many people behind it; takes the scope sessions:act-as. Example: `{ id: "U042", name: "Ann" }`',
  fields: (t) => ({
    id: t.id({ required: true, description: `The person's, in the program's words, at most ${MAX_KEY} characters. Example: \`"U042"\`` }),
    name: t.string({ description: `For people to read, at most ${MAX_KEY} characters. Example: \`"Ann"\`` }),
    kind: t.field({ type: PrincipalKind, required: true, defaultValue: 'USER', description: 'Not SYSTEM. Example: `ANONYMOUS`' }),
  }),
})
const ACTOR = 'Whose words they are, if not your own. Example: `{ id: "U042" }`'

export const CreateSessionInput = builder.inputType('CreateSessionInput', {
  description: 'Example: `{ session: { agent: "support" }, idempotencyKey: "order-1042" }`',
  fields: (t) => ({
    session: t.field({ type: NewSessionInput, required: true, description: 'The session. Example: `{ agent: "support" }`' }),
    idempotencyKey: t.string({ description: KEY }),
  }),
})

export const SendInput = builder.inputType('SendInput', {
  description: 'Example: `{ to: { address: { address: "slack:C042", create: { agent: "support" } } }, message: { text: "Hello" } }`',
  fields: (t) => ({
    to: t.field({ type: SendTarget, required: true, description: 'Where it goes. Example: `{ create: { agent: "support" } }`' }),
    message: t.field({ type: MessageInput, required: true, description: 'What is said. Example: `{ text: "Hello" }`' }),
    turnPolicy: t.field({
      type: TurnPolicy,
      required: true,
      defaultValue: 'STEER',
      description: 'What it does while a turn is open. Example: `QUEUE`',
    }),
    actor: t.field({ type: ActorInput, description: ACTOR }),
    idempotencyKey: t.string({ description: KEY }),
  }),
})

const AnswerValueInput = builder.inputType('AnswerValueInput', {
  description: 'What is answered. `""`, 0 and false are answers. Example: `{ decision: APPROVE }`',
  isOneOf: true,
  fields: (t) => ({
    decision: t.field({
      type: ApprovalDecision,
      description: 'Of an approval; of a limit: to continue or to stop; DENY declines a sign-in. Example: `APPROVE`',
    }),
    optionIds: t.stringList({ description: 'Ids of options that are chosen. Example: `["continue"]`' }),
    text: t.string({ description: `Words, where the request allows text, at most ${MAX_TEXT} characters. Example: \`"Tomorrow"\`` }),
    json: t.field({ type: 'JSON', description: 'Any JSON but null, where the request allows text. Example: `false`' }),
  }),
})

const AnswerInput = builder.inputType('AnswerInput', {
  description: 'An answer to one request. Example: `{ requestId: "req_01jd9x0k3vf8h8s6q2m4n7p9r1", value: { decision: APPROVE } }`',
  fields: (t) => ({
    requestId: t.id({ required: true, description: 'The request. Example: `"req_01jd9x0k3vf8h8s6q2m4n7p9r1"`' }),
    value: t.field({ type: AnswerValueInput, required: true, description: 'What is answered. Example: `{ decision: DENY }`' }),
    reason: t.string({
      description: `Why, for the record and the model, at most ${MAX_REASON} characters. Example: \`"over the limit of the desk"\``,
    }),
  }),
})

export const RespondInput = builder.inputType('RespondInput', {
  description:
    'Example: `{ session: { address: "slack:C042" }, answers: [{ requestId: "req_01jd9x0k3vf8h8s6q2m4n7p9r1", value: { decision: APPROVE } }] }`',
  fields: (t) => ({
    session: t.field({ type: SessionRef, required: true, description: 'The session that asks. Example: `{ address: "slack:C042" }`' }),
    answers: t.field({
      type: [AnswerInput],
      required: true,
      description: `One for each request, at most ${MAX_ANSWERS}. Example: \`[{ requestId: "req_01jd9x0k3vf8h8s6q2m4n7p9r1", value: { text: "Tomorrow" } }]\``,
    }),
    actor: t.field({ type: ActorInput, description: ACTOR }),
    idempotencyKey: t.string({ description: KEY }),
  }),
})

export const CancelInput = builder.inputType('CancelInput', {
  description: 'Example: `{ session: { address: "slack:C042" }, dropQueued: true }`',
  fields: (t) => ({
    session: t.field({ type: SessionRef, required: true, description: 'The session. Example: `{ address: "slack:C042" }`' }),
    turnId: t.id({ description: 'Only if this is the open turn. Example: `"turn_01jd9x0k3vf8h8s6q2m4n7p9r1"`' }),
    dropQueued: t.boolean({
      required: true,
      defaultValue: false,
      description: 'Also reject the messages that wait; otherwise they start the next turn. Example: `true`',
    }),
    idempotencyKey: t.string({ description: KEY }),
  }),
})

export const ClearInput = builder.inputType('ClearInput', {
  description: 'Example: `{ session: { address: "slack:C042" } }`',
  fields: (t) => ({
    session: t.field({ type: SessionRef, required: true, description: 'The session. Example: `{ address: "slack:C042" }`' }),
    idempotencyKey: t.string({ description: KEY }),
  }),
})

export const CompactInput = builder.inputType('CompactInput', {
  description: 'Example: `{ session: { address: "slack:C042" }, instructions: "Keep all order numbers." }`',
  fields: (t) => ({
    session: t.field({ type: SessionRef, required: true, description: 'The session. Example: `{ address: "slack:C042" }`' }),
    instructions: t.string({ description: 'What the summary has to keep. Example: `"Keep all order numbers."`' }),
    idempotencyKey: t.string({ description: KEY }),
  }),
})

export const EndInput = builder.inputType('EndInput', {
  description: 'Example: `{ session: { address: "slack:C042" }, reason: "solved" }`',
  fields: (t) => ({
    session: t.field({ type: SessionRef, required: true, description: 'The session. Example: `{ address: "slack:C042" }`' }),
    reason: t.string({ description: 'Why, for the record. Example: `"solved"`' }),
    idempotencyKey: t.string({ description: KEY }),
  }),
})

export const AddressInput = builder.inputType('AddressInput', {
  description: 'Example: `{ session: "ses_01jd9x0k3vf8h8s6q2m4n7p9r1", address: "slack:C042" }`',
  fields: (t) => ({
    session: t.id({ required: true, description: 'The session. Example: `"ses_01jd9x0k3vf8h8s6q2m4n7p9r1"`' }),
    address: t.string({ required: true, description: 'The address, `channel:value`. Example: `"slack:C042"`' }),
  }),
})

export const UpdateSessionInput = builder.inputType('UpdateSessionInput', {
  description: 'What is not given stays. Example: `{ session: "ses_01jd9x0k3vf8h8s6q2m4n7p9r1", title: "Order 1042" }`',
  fields: (t) => ({
    session: t.id({ required: true, description: 'The session. Example: `"ses_01jd9x0k3vf8h8s6q2m4n7p9r1"`' }),
    title: t.string({ description: 'What people call it; null removes it. Example: `"Order 1042"`' }),
    metadata: t.field({
      type: 'JSONObject',
      description: 'Takes the place of all that was attached; null: nothing is. Example: `{ order: 1042 }`',
    }),
  }),
})
