/** What a request to the API has in hand: the services of this process, who asks, and the batches of this one request. */
import type { Clock } from '../clock.js'
import type { AgentRegistry } from '../agents/registry.js'
import type { Delivery, PrismaClient, ToolCall, Turn } from '../generated/prisma/client.js'
import type { Feed } from '../events/feed.js'
import type { IdSource, SessionId } from '../ids.js'
import type { Intake } from '../session/intake.js'
import type { Coordinator, Log, SessionStore } from '../session/ports.js'
import type { Batch } from './batch.js'
import type { Caller } from './caller.js'
import type { Children } from './children.js'
import type { OpenApprovals } from './open-approvals.js'
import type { OpenTurns } from './open-turns.js'
import type { Requests } from './requests.js'
import type { Sessions } from './sessions.js'

/** What the API needs of this process. */
export interface GraphqlServices {
  readonly prisma: PrismaClient
  readonly store: Pick<SessionStore, 'findAddress'>
  readonly intake: Intake
  readonly feed: Pick<Feed, 'open'>
  readonly coordinator: Pick<Coordinator, 'announce' | 'onAnnounce'>
  readonly agents: Pick<AgentRegistry, 'names' | 'describe'>
  readonly clock: Clock
  readonly ids: IdSource
  readonly log: Pick<Log, 'warn' | 'error'>
  /** On a developer's own machine: open to everybody on it, and frank about faults. */
  readonly development: boolean
}

export interface GraphqlContext {
  readonly services: GraphqlServices
  readonly caller: Caller
  readonly sessions: Sessions
  readonly children: Children
  readonly requests: Requests
  /** Sessions of which this caller is shown no more than an outline: it answered what they asked, and may not see them. */
  readonly outlines: Set<string>
  /** By id, of sessions or requests that the caller has in hand. */
  readonly turns: Batch<string, Turn>
  readonly calls: Batch<string, ToolCall>
  readonly deliveries: Batch<string, Delivery>
  readonly openTurns: OpenTurns
  /** What the author's tools remember, by session. */
  readonly states: Batch<string, unknown>
  readonly openApprovals: OpenApprovals
  /** The session that a subscription to events follows; null before it was found. */
  readonly following: { sessionId: SessionId | null }
  /** Asks again who the caller is. Null: it may not go on. */
  reauthenticate(): Promise<Caller | null>
}
