import type { ProblemCode as Code } from '../../errors.js'
import { builder } from '../builder.js'
import * as problems from '../problems.js'
import { InputRequest } from './request.js'
import { Session } from './session.js'

const ProblemCode = builder.enumType('ProblemCode', {
  description: 'What went wrong, as one word: the complete set.',
  values: {
    NOT_FOUND: { description: 'There is no such thing, or the caller may not see it.' },
    FORBIDDEN: { description: 'The caller may see it, and may not do this.' },
    INVALID_INPUT: { description: 'The input says something that cannot be done; the issues say where.' },
    SESSION_ENDED: { description: 'The session has ended.' },
    SESSION_STRANDED: { description: 'No deployment that is alive can read the session.' },
    ADDRESS_TAKEN: { description: 'Another open session holds the address.' },
    REQUEST_NOT_PENDING: { description: 'Somebody has answered already, or the request was withdrawn.' },
    IDEMPOTENCY_MISMATCH: { description: 'The idempotency key was used for something else.' },
    LIMIT_EXCEEDED: { description: 'Too much, or too often.' },
  } satisfies { readonly [Each in Code]: { readonly description: string } },
})

export const Problem = builder.interfaceRef<problems.ProblemValue>('Problem').implement({
  description: 'An expected failure. Each has a type of its own with what belongs to it.',
  fields: (t) => ({
    code: t.field({ type: ProblemCode, description: 'What went wrong, as one word.', resolve: problems.codeOf }),
    message: t.exposeString('message', { description: 'What went wrong, and how to mend it, as a sentence.' }),
  }),
})

export const NotFoundError = builder.objectRef<problems.NotFound>('NotFoundError').implement({
  description: 'There is no such thing, or the caller may not see it.',
  interfaces: [Problem],
  fields: (t) => ({
    id: t.id({ nullable: true, description: 'What was looked for, if it was named by its id.', resolve: ({ id }) => id }),
  }),
})

export const ForbiddenError = builder.objectRef<problems.Forbidden>('ForbiddenError').implement({
  description: 'The caller lacks a scope, or it is for somebody else to do; the message says which, and who.',
  interfaces: [Problem],
})

const InputIssue = builder.objectRef<problems.InputIssue>('InputIssue').implement({
  description: 'One thing that is wrong with the input.',
  fields: (t) => ({
    path: t.stringList({ description: 'Where in the input: `["session", "addresses", "0"]`.', resolve: ({ path }) => path }),
    message: t.exposeString('message', { description: 'What is wrong, and what would be right.' }),
  }),
})

export const InvalidInputError = builder.objectRef<problems.InvalidInput>('InvalidInputError').implement({
  description: 'The input says something that cannot be done.',
  interfaces: [Problem],
  fields: (t) => ({
    issues: t.field({ type: [InputIssue], description: 'All that is wrong with it.', resolve: ({ issues }) => issues }),
  }),
})

export const SessionEndedError = builder.objectRef<problems.SessionEnded>('SessionEndedError').implement({
  description: 'The session has ended, and takes no more deliveries.',
  interfaces: [Problem],
  fields: (t) => ({
    session: t.field({
      type: Session,
      description: 'The session.',
      resolve: ({ sessionId }, _, { sessions }) => sessions.loadWritten(sessionId),
    }),
  }),
})

export const AddressTakenError = builder.objectRef<problems.AddressTaken>('AddressTakenError').implement({
  description: 'Another open session holds an address; nothing was created.',
  interfaces: [Problem],
  fields: (t) => ({
    address: t.exposeString('address', { description: 'The address.' }),
    holder: t.id({ nullable: true, description: 'The session that holds it, if the caller may see it.', resolve: ({ holder }) => holder }),
  }),
})

export const RequestNotPendingError = builder.objectRef<problems.RequestNotPending>('RequestNotPendingError').implement({
  description: 'Requests are not open any more; nothing was accepted.',
  interfaces: [Problem],
  fields: (t) => ({
    requests: t.field({
      type: [InputRequest],
      description: 'Those that are not, each with the answer that came first, if there is one.',
      resolve: ({ requests }) => [...requests],
    }),
  }),
})

export const IdempotencyMismatchError = builder.objectRef<problems.IdempotencyMismatch>('IdempotencyMismatchError').implement({
  description: 'The caller has used the idempotency key for something else.',
  interfaces: [Problem],
})

export const LimitExceededError = builder.objectRef<problems.LimitExceeded>('LimitExceededError').implement({
  description: 'Too much, or too often.',
  interfaces: [Problem],
  fields: (t) => ({
    limit: t.exposeString('limit', { description: 'The limit: what of, and how much.' }),
    retryAfterMs: t.expose('retryAfterMs', {
      type: 'SafeInt',
      nullable: true,
      description: 'Milliseconds after which the same may succeed; null: never.',
    }),
  }),
})
