/** Whom a turn waits for, as it stands now. The log tells of a wait when it begins; what was accepted since is not in it yet. */
import { TurnWaitDocument } from './generated/documents.js'
import type { TurnWaitQuery } from './generated/operations.js'
import { createInputRequest, type InputRequest } from './input-request.js'
import type { Transport } from './transport.js'

export interface Wait {
  readonly isWaiting: boolean
  /** Of the turn. */
  readonly number: number
  /** What nobody has answered. Empty also when something was accepted that ends the wait. */
  readonly requests: readonly InputRequest[]
}

/** Null when there is no such turn, or the caller may not see it. */
export async function loadWait(
  transport: Transport,
  of: { readonly session: string; readonly turn: string },
  signal: AbortSignal,
): Promise<Wait | null> {
  const { session, node: turn } = await transport.request(TurnWaitDocument, of, { signal, maxAttempts: Infinity })
  if (turn?.__typename !== 'Turn' || session === null) return null
  const isWaiting = turn.status === 'WAITING'
  const open = isWaiting ? session.requests.nodes.filter(({ turnId }) => turnId === of.turn) : []
  const isOver = session.deliveries.nodes.some((delivery) => endsWait(delivery, turn, open))
  return { isWaiting, number: turn.number, requests: isOver ? [] : open.map((info) => createInputRequest(transport, info)) }
}

type Session = NonNullable<TurnWaitQuery['session']>
type AcceptedDelivery = Session['deliveries']['nodes'][number]
type OpenRequest = Session['requests']['nodes'][number]
type Turn = Extract<TurnWaitQuery['node'], { readonly __typename: 'Turn' }>

/** A control does at once. So does what the turn's person says: it answers, or withdraws what was asked; over a budget it waits. */
function endsWait({ kind, policy, by }: AcceptedDelivery, { servedPrincipal: served }: Turn, open: readonly OpenRequest[]): boolean {
  if (kind !== 'MESSAGE') return kind === 'CANCEL' || kind === 'CLEAR' || kind === 'END'
  const isServed = by.kind !== 'ANONYMOUS' && by.kind === served.kind && by.id === served.id
  return isServed && policy === 'STEER' && !open.some((request) => request.kind === 'LIMIT')
}
