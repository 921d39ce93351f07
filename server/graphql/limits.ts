/** What one request may cost. More is refused with a message that names the limit. */

export const DEFAULT_PAGE = 50
export const MAX_PAGE = 200
/** Ids that `nodes` takes at once. */
export const MAX_NODES = 100
export const DEFAULT_TRANSCRIPT = 100
export const MAX_TRANSCRIPT = 1000

/** Events that a subscription replays by `last`. */
export const MAX_REPLAY = 10_000

export const MAX_DEPTH = 16
/** Fields that a query may ask for, each item of a page counted. */
export const MAX_COMPLEXITY = 200_000
/** Lexical tokens of a document. */
export const MAX_TOKENS = 5_000
export const MAX_BODY_BYTES = 2 * 1024 * 1024

/** Of what is sent to a session. */
export const MAX_TEXT = 256 * 1024
export const MAX_TITLE = 200
export const MAX_METADATA_BYTES = 16 * 1024
export const MAX_ADDRESS = 512
export const MAX_ADDRESSES = 256
export const MAX_HISTORY = 1000
export const MAX_KEY = 255
export const MAX_REASON = 1000
/** Requests that are answered at once. */
export const MAX_ANSWERS = 100

/** Sets of variables for which one document is kept prepared. */
export const MAX_SHARED_VARIANTS = 16
/** Silence after which a stream is sent a comment, so that nothing on the way takes it for dead. */
export const KEEP_ALIVE_MS = 12_000
/** How long a subscription goes on before it is asked again who it belongs to. */
export const REAUTHENTICATE_MS = 60_000
/** A session is announced to one subscriber of changes at most this often. */
export const CHANGE_INTERVAL_MS = 1_000
/** Changed sessions that are read at once for one subscriber. */
export const CHANGE_BATCH = 100
/** Sessions of which a subscriber of changes is known to have heard that they do not match. */
export const MAX_UNMATCHED = 10_000
/** Requests of which a subscriber of the reviewer's queue is known to have heard where they stand. */
export const MAX_TOLD = 10_000
/** How long it may take until a commit is announced, by the clocks of different processes. */
export const ANNOUNCE_SLACK_MS = 60_000

interface PageArguments {
  readonly first?: number | null | undefined
  readonly last?: number | null | undefined
}

/** The cost of a page: what one item costs, as often as items were asked for. */
export function pageComplexity({ first, last }: PageArguments): { readonly field: number; readonly multiplier: number } {
  return { field: 1, multiplier: Math.max(first ?? last ?? DEFAULT_PAGE, 1) }
}
