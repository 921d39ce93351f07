/** What one may say with everything that is handed to a session, and what comes back of it. */
import { toProblemError } from './errors.js'
import type {
  ActorInput,
  CancelMutation,
  ClearMutation,
  CompactMutation,
  DeliveryFieldsFragment,
  EndMutation,
  RespondMutation,
} from './generated/operations.js'

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
}
export interface DeliverOptions extends CallOptions {
  /**
   * Whoever sends the same key again gets the first delivery, whatever became of it. Default: a new key for each call, so that
   * the SDK's own repeats of a lost request deliver once; bring your own to be as safe across restarts of your program.
   */
  readonly idempotencyKey?: string | undefined
}

/** The person whose words a program hands over: one credential, many people. */
export interface Actor extends ActorInput {}
export interface ActOptions extends DeliverOptions {
  /** Who says it. Default: whoever the credentials belong to; for somebody else they need the scope `sessions:act-as`. */
  readonly actor?: Actor | undefined
}

/** What became of what was handed over. */
export interface DeliveryReceipt {
  readonly delivery: DeliveryFieldsFragment
  /** True when the idempotency key had been used: this is the first delivery. */
  readonly duplicate: boolean
}

type Handed =
  CancelMutation['cancel'] | ClearMutation['clear'] | CompactMutation['compact'] | EndMutation['end'] | RespondMutation['respond']

/** Throws the ProblemError of what the server refused. */
export function toReceipt(result: Handed): DeliveryReceipt {
  if (result.__typename !== 'DeliveryPayload') throw toProblemError(result)
  return { delivery: result.delivery, duplicate: result.duplicate }
}
