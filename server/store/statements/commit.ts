/**
 * commit: R1's second door: everything that follows from one outcome, in one statement.
 * In: the session as its driver holds it, the commit, time to live. Out: position of the last event, or no row.
 *
 * R2 and R4 are conditions on the head's own columns, which PostgreSQL tests again on the newest version after a wait for its lock:
 * epoch, owner, revision, and inbox or control. No row: `look` tells why.
 */
import type { Clock } from '../../clock.js'
import { PerdureError } from '../../errors.js'
import { isEndedPhase, openTurnOf } from '../../session/checkpoint.js'
import type { Commit } from '../../session/commit.js'
import type { CommitOutcome } from '../../session/ports.js'
import type { Session } from '../../session/session.js'
import { checkCommit } from '../check-commit.js'
import { defineStatement, type Database, type Statement } from '../database.js'
import { placeEvents, toEventRecords } from '../event-row.js'
import { toText, toTextOrNull, type SqlValue } from '../json-column.js'
import type { CommitPart } from './commit-part.js'
import { toParts } from './commit-parts.js'
import { look } from './look.js'
import { readEvents } from './read-events.js'

interface CommitRow {
  readonly last_seq: number
}

const GIVE_BACK = `owner = NULL, lease_until = NULL, wake_at = clock_timestamp() + $5::float8 * interval '1 millisecond'`
/**
 * What becomes of the lease. `$5` is milliseconds from now: time to live, or the next wake, null for none. Of a driven session the lease
 * alone says when somebody else may look: its wake time has passed and stays what it is, so that no entry of an index changes.
 */
const LEASES = {
  drive: `lease_until = clock_timestamp() + $5::float8 * interval '1 millisecond', wake_at = LEAST(wake_at, clock_timestamp())`,
  park: GIVE_BACK,
  end: `open = false, ${GIVE_BACK}`,
} as const
const GUARDS = { none: '', control: ' AND control = $8', inbox: ' AND inbox = $8' } as const

/** Keeps the texts of the shapes that were used; their number is small. */
export type CommitShapes = Map<string, Statement<CommitRow>>

export interface CommitPorts {
  readonly database: Database
  readonly clock: Clock
  readonly shapes: CommitShapes
}

export async function commit(ports: CommitPorts, session: Session, change: Commit, ttlMs: number): Promise<CommitOutcome> {
  checkCommit(session, change)
  const { events } = change
  const written = toEventRecords(events)
  const parts = toParts(change, written, session.facts)
  const values = [...toHeadValues(ports.clock, session, change, ttlMs), ...parts.map((part) => part.value)]
  const [row] = await ports.database.query(toStatement(ports.shapes, change, parts), values)
  if (row === undefined) return explain(ports.database, session, change)
  return { kind: 'committed', events: placeEvents(session.facts.id, { events, written, last: row.last_seq }) }
}

function toHeadValues(clock: Clock, session: Session, change: Commit, ttlMs: number): readonly SqlValue[] {
  const values = [
    toText(session.facts.id),
    session.lease.epoch,
    session.revision,
    change.events.length,
    toLeaseMs(clock, change, ttlMs),
    toTextOrNull(openTurnOf(change.checkpoint)?.id),
    toText(session.lease.owner),
  ]
  if (change.guard === 'none') return values
  return [...values, change.guard === 'inbox' ? session.inbox : session.control]
}

function toLeaseMs(clock: Clock, change: Commit, ttlMs: number): number | null {
  if (isEndedPhase(change.checkpoint)) return null
  if (change.park === null) return ttlMs
  return change.park.wakeAt === null ? null : Math.max(0, change.park.wakeAt - clock.now())
}

function toStatement(shapes: CommitShapes, change: Commit, parts: readonly CommitPart[]): Statement<CommitRow> {
  const parked = change.park === null ? 'drive' : 'park'
  const lease = isEndedPhase(change.checkpoint) ? 'end' : parked
  const name = `commit-${lease}-${change.guard}-${parts.map((part) => part.letter).join('')}`
  const known = shapes.get(name)
  if (known !== undefined) return known
  const first = change.guard === 'none' ? 8 : 9
  const rows = parts.map((part, index) => part.sql(`$${first + index}`))
  const head = `head AS (
  UPDATE session_head SET revision = revision + 1, committed_by = $7, claims = 0, last_seq = last_seq + $4, turn_id = $6,
    ${LEASES[lease]}
  WHERE session_id = $1 AND epoch = $2 AND owner = $7 AND revision = $3 AND open${GUARDS[change.guard]}
  RETURNING session_id, revision, last_seq)`
  const statement = defineStatement<CommitRow>(
    name,
    `WITH ${[head, ...rows].join(', ')}\nSELECT last_seq${lease === 'end' ? ', release_addresses(session_id)' : ''} FROM head`,
  )
  shapes.set(name, statement)
  return statement
}

/** Why the head did not match. */
async function explain(database: Database, session: Session, change: Commit): Promise<CommitOutcome> {
  const { id } = session.facts
  const seen = await look(database, id, session.inbox)
  if (seen === null || seen.epoch !== session.lease.epoch) return { kind: 'fenced' }
  // Only the holder of this lease counts revisions up in its name in this epoch: one more is this very commit, whose reply was lost (R2).
  if (seen.revision === session.revision + 1 && seen.committedBy === session.lease.owner) {
    const { length } = change.events
    return { kind: 'committed', events: length === 0 ? [] : await readEvents(database, id, seen.lastSeq - length, length) }
  }
  // Given back, e.g. by a process that stops: whoever is next goes on from the revision before.
  if (seen.owner !== session.lease.owner) return { kind: 'fenced' }
  if (seen.revision === session.revision && seen.arrived.length > 0) return { kind: 'moved', arrived: seen.arrived }
  throw new PerdureError(
    'INTERNAL',
    `a commit to session ${id} builds on revision ${session.revision} and inbox ${session.inbox}, the session is at revision ${seen.revision}`,
  )
}
