/** What mutations give: what was asked for, or why not. */
import { builder } from '../builder.js'
import type { Delivered } from '../deliver.js'
import type * as problems from '../problems.js'
import { Delivery } from './delivery.js'
import {
  AddressTakenError,
  ForbiddenError,
  IdempotencyMismatchError,
  InvalidInputError,
  LimitExceededError,
  NotFoundError,
  RequestNotPendingError,
  SessionEndedError,
} from './problem.js'
import { Session } from './session.js'

/** A session that was written to. */
export interface Written {
  readonly sessionId: string
}
type Created = Written & { readonly __typename: 'CreateSessionPayload'; readonly duplicate: boolean }
type Sent = Delivered & { readonly __typename: 'SendPayload'; readonly created: boolean }
type Handed = Delivered & { readonly __typename: 'DeliveryPayload' }
type Updated = Written & { readonly __typename: 'SessionPayload' }

const DUPLICATE = 'Whether the key had been used before: this is what it did then.'

const CreateSessionPayload = builder.objectRef<Created>('CreateSessionPayload').implement({
  description: 'The session was created.',
  fields: (t) => ({
    session: t.field({ type: Session, description: 'It.', resolve: ({ sessionId }, _, { sessions }) => sessions.loadWritten(sessionId) }),
    duplicate: t.exposeBoolean('duplicate', { description: DUPLICATE }),
  }),
})

const SendPayload = builder.objectRef<Sent>('SendPayload').implement({
  description: 'The message is durable, and will be acted on.',
  fields: (t) => ({
    session: t.field({
      type: Session,
      description: 'The session that it went to.',
      resolve: ({ sessionId }, _, { sessions }) => sessions.loadWritten(sessionId),
    }),
    delivery: t.field({
      type: Delivery,
      description: 'The message as a delivery.',
      resolve: ({ deliveryId, delivery }, _, { deliveries }) => delivery ?? deliveries.load(deliveryId),
    }),
    created: t.exposeBoolean('created', { description: 'Whether the session was created for it.' }),
    duplicate: t.exposeBoolean('duplicate', { description: DUPLICATE }),
  }),
})

const DeliveryPayload = builder.objectRef<Handed>('DeliveryPayload').implement({
  description: 'It is durable, and will be acted on.',
  fields: (t) => ({
    session: t.field({
      type: Session,
      description: 'The session that it went to.',
      resolve: ({ sessionId }, _, { sessions }) => sessions.loadWritten(sessionId),
    }),
    delivery: t.field({
      type: Delivery,
      description: 'What was handed over.',
      resolve: ({ deliveryId, delivery }, _, { deliveries }) => delivery ?? deliveries.load(deliveryId),
    }),
    duplicate: t.exposeBoolean('duplicate', { description: DUPLICATE }),
  }),
})

const SessionPayload = builder.objectRef<Updated>('SessionPayload').implement({
  description: 'The session was changed.',
  fields: (t) => ({
    session: t.field({ type: Session, description: 'It.', resolve: ({ sessionId }, _, { sessions }) => sessions.loadWritten(sessionId) }),
  }),
})

type Refused = problems.NotFound | problems.Forbidden | problems.InvalidInput | problems.LimitExceeded
export type CreateSessionResult = Created | Refused | problems.AddressTaken | problems.IdempotencyMismatch
export type SendResult = Sent | Refused | problems.SessionEnded | problems.AddressTaken | problems.IdempotencyMismatch
export type UpdateSessionResult = Updated | Refused

const REFUSED = [NotFoundError, ForbiddenError, InvalidInputError, LimitExceededError] as const
const resolveType = ({ __typename }: { readonly __typename: string }) => __typename

export const CreateSessionResult = builder.unionType('CreateSessionResult', {
  description: 'The session, or why there is none.',
  types: [CreateSessionPayload, ...REFUSED, AddressTakenError, IdempotencyMismatchError],
  resolveType,
})

export const SendResult = builder.unionType('SendResult', {
  description: 'The delivery, or why there is none.',
  types: [SendPayload, ...REFUSED, SessionEndedError, AddressTakenError, IdempotencyMismatchError],
  resolveType,
})

export const RespondResult = builder.unionType('RespondResult', {
  description: 'The delivery that holds the answers, or why there is none.',
  types: [DeliveryPayload, ...REFUSED, RequestNotPendingError, SessionEndedError, IdempotencyMismatchError],
  resolveType,
})

export const CancelResult = builder.unionType('CancelResult', {
  description: 'The delivery, or why there is none.',
  types: [DeliveryPayload, ...REFUSED, SessionEndedError, IdempotencyMismatchError],
  resolveType,
})

export const ClearResult = builder.unionType('ClearResult', {
  description: 'The delivery, or why there is none.',
  types: [DeliveryPayload, ...REFUSED, SessionEndedError, IdempotencyMismatchError],
  resolveType,
})

export const CompactResult = builder.unionType('CompactResult', {
  description: 'The delivery, or why there is none.',
  types: [DeliveryPayload, ...REFUSED, SessionEndedError, IdempotencyMismatchError],
  resolveType,
})

export const EndResult = builder.unionType('EndResult', {
  description: 'The delivery, or why there is none. Ending an ended session gives what ended it; SessionEndedError if nobody did.',
  types: [DeliveryPayload, ...REFUSED, SessionEndedError, IdempotencyMismatchError],
  resolveType,
})

export const ClaimAddressResult = builder.unionType('ClaimAddressResult', {
  description: 'The session, or why it did not get the address.',
  types: [SessionPayload, ...REFUSED, SessionEndedError, AddressTakenError],
  resolveType,
})

export const ReleaseAddressResult = builder.unionType('ReleaseAddressResult', {
  description: 'The session, or why nothing was released.',
  types: [SessionPayload, ...REFUSED],
  resolveType,
})

export const UpdateSessionResult = builder.unionType('UpdateSessionResult', {
  description: 'The session, or why it was not changed.',
  types: [SessionPayload, ...REFUSED],
  resolveType,
})
