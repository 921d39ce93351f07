/**
 * Drives one session: asks `next` what it owes, keeps exactly that in flight, and commits each outcome as it comes, until nothing is
 * owed. Whoever reads this file knows how a crash is survived: everything that counts is in the last commit, and the next worker
 * enters this loop with it.
 *
 * R1 The session changes through `commit` here, or through `deliver` elsewhere; nothing else.
 * R2 A fenced commit ends the drive: nothing is written, retried or published after it.
 * R3 `keep` starts a tool only when its start is in the checkpoint, that is, after the commit that recorded it.
 * R4 A refused (`moved`) commit wrote nothing: what arrived is taken in, and `next` is asked again.
 */
import { PerdureError } from '../errors.js'
import type { Clock } from '../clock.js'
import type { IdSource } from '../ids.js'
import { Bell } from './bell.js'
import type { Commit } from './commit.js'
import type { HistoryItem } from './history.js'
import { interruptedStep, next } from './next.js'
import type { Circumstances, Owed } from './owed.js'
import { Effects } from './perform/effects.js'
import { HistoryCache } from './perform/history-cache.js'
import { Memos } from './perform/memos.js'
import type { RecentHistories } from './perform/recent-histories.js'
import type { AgentPort } from './agent-port.js'
import type { CommitOutcome, EventStream, Log, SessionStore } from './ports.js'
import { addDeliveries, applyCommit, resumeClock, type Session } from './session.js'
import type { Settling } from './settle/draft.js'
import { park, parkOnly } from './settle/park.js'
import { settleOutcomes, settleTransition } from './settle/settle.js'
import { untilKnown } from './until-known.js'

export interface DrivePorts {
  readonly store: SessionStore
  readonly stream: EventStream
  readonly agent: AgentPort
  readonly clock: Clock
  readonly ids: IdSource
  readonly random: () => number
  /** Its lines name the session. */
  readonly log: Log
  readonly leaseTtlMs: number
  /** Where the history is kept between turns. Default: nowhere. */
  readonly histories?: RecentHistories
  /** Called after each commit that was applied, with the session as it was before; publishes its events. */
  readonly onCommitted: (before: Session, commit: Commit, outcome: Extract<CommitOutcome, { kind: 'committed' }>) => void
}
export interface DriveSignals {
  /** The lease is gone, or may be: stop at once. */
  readonly lost: AbortSignal
  /** The process is about to stop: reach a commit, begin nothing. */
  readonly draining: AbortSignal
  /** Registers for wakes of this session while it is driven. */
  readonly onNudge: (callback: () => void) => void
}

/** `parked`: the lease went back with the last commit. `lost`: another worker may have it. */
export async function drive(claimed: Session, ports: DrivePorts, signals: DriveSignals): Promise<'parked' | 'lost'> {
  const { agent, clock, stream } = ports
  const bell = new Bell()
  const history = new HistoryCache(ports, claimed)
  const effects = new Effects({
    ...ports,
    memos: new Memos({ ...ports, lost: signals.lost }, claimed.lease),
    hasGrant: (of, tool, to) => readGrant(() => ports.store.hasGrant(of.facts.id, tool, to), ports, signals.lost),
    loadHistory: (of) => readHistory(history, of, ports, signals.lost),
    onOutcome: () => bell.ring(),
  })
  const forget = bell.ringOn([signals.lost, signals.draining])
  const inbox = { hasNews: false }
  signals.onNudge(() => {
    inbox.hasNews = true
    bell.ring()
  })
  let session = resumeClock(claimed, clock.now())
  try {
    while (!signals.lost.aborted) {
      if (inbox.hasNews) {
        inbox.hasNews = false
        session = await lookAround(session, ports, signals.lost)
      }
      const circumstances: Circumstances = {
        ...{ now: clock.now(), limits: agent.limits, draining: signals.draining.aborted },
        isSpeaking: effects.isSpeaking(session.checkpoint),
      }
      const owed = next(session, circumstances)
      if (owed.kind === 'effects') effects.keep(session, owed.effects)
      const settled = settle(session, owed, effects, toSettling(ports, circumstances))
      if (settled === null) {
        await bell.waitUntil(owed.kind === 'effects' ? owed.dueAt : null, clock)
        continue
      }
      const commit = withParking(session, settled, circumstances, ports)
      effects.dismiss(commit.changedCalls)
      const pending = await stream.take()
      const outcome = await commitDurably(session, { ...commit, events: [...pending, ...commit.events] }, ports, signals.lost)
      stream.resume(outcome.kind === 'moved' ? pending : [])
      if (outcome.kind === 'fenced') return 'lost'
      if (outcome.kind === 'moved') {
        session = addDeliveries(session, outcome.arrived)
        continue
      }
      ports.onCommitted(session, commit, outcome)
      session = applyCommit(session, commit)
      history.follow(session, commit)
      if (commit.park !== null) return 'parked'
    }
    return 'lost'
  } finally {
    forget()
    stream.close()
    effects.stopAll()
  }
}

/** What follows now, or null when the effects in flight have to answer first. */
function settle(session: Session, owed: Owed, effects: Effects, settling: Settling): Commit | null {
  switch (owed.kind) {
    case 'park':
      return parkOnly(session, owed.wakeAt, settling)
    case 'transition': {
      // A result that is there counts, also when the grace for it is over.
      const ready = owed.transition.kind === 'advance-step' ? settleOutcomes(session, effects.outcomes(), settling) : null
      if (ready !== null) return ready
      const taken = interruptedStep(session, owed.transition)
      const said = taken === null ? [] : effects.interruptModel(taken)
      return settleTransition(session, owed.transition, said, settling)
    }
    case 'effects':
      return settleOutcomes(session, effects.outcomes(), settling)
  }
}

/** A commit that leaves nothing owed parks in the same transaction. */
function withParking(session: Session, commit: Commit, circumstances: Circumstances, ports: DrivePorts): Commit {
  if (commit.park !== null) return commit
  const after = applyCommit(session, commit)
  const then = next(after, circumstances)
  return then.kind === 'park' ? park(commit, after, then.wakeAt, toSettling(ports, circumstances)) : commit
}

function toSettling({ ids, agent, random }: DrivePorts, { now, draining }: Circumstances): Settling {
  return { now, ids, limits: agent.limits, model: agent.model.name, random: random(), draining }
}

async function lookAround(session: Session, ports: DrivePorts, lost: AbortSignal): Promise<Session> {
  const arrived = await untilKnown(() => ports.store.loadDeliveries(session.facts.id, session.inbox), ports, lost)
  return addDeliveries(session, arrived ?? [])
}

async function readHistory(history: HistoryCache, session: Session, ports: DrivePorts, lost: AbortSignal): Promise<readonly HistoryItem[]> {
  const items = await untilKnown(() => history.load(session), ports, lost)
  if (items === null) throw new PerdureError('LEASE_LOST', 'the history was not read before the lease was lost')
  return items
}

/** Nobody knows: as good as none. */
async function readGrant(ask: () => Promise<boolean>, ports: DrivePorts, lost: AbortSignal): Promise<boolean> {
  return (await untilKnown(ask, ports, lost)) ?? false
}

/** The same commit is repeated until its outcome is known or the lease is over; no effect starts meanwhile (R2). */
async function commitDurably(session: Session, commit: Commit, ports: DrivePorts, lost: AbortSignal): Promise<CommitOutcome> {
  return (await untilKnown(() => ports.store.commit(session, commit, ports.leaseTtlMs), ports, lost)) ?? { kind: 'fenced' }
}
