import { describe, expect, it } from 'vitest'
import { applyCommit } from '../../../server/session/session.js'
import type { Commit } from '../../../server/session/commit.js'
import type { Session } from '../../../server/session/session.js'
import {
  EXPIRED_MS,
  TTL_MS,
  acting,
  callRow,
  chunk,
  claimDue,
  claimNew,
  closedTurn,
  endingCommit,
  ids,
  message,
  modelling,
  newCommit,
  openTurn,
  parkingCommit,
  statusChange,
  turnRow,
  waitingEvent,
} from '../../support/store-fixtures.js'
import type { Subject } from '../session-store.js'

export function testCommit(subject: Subject): void {
  describe('commit', () => {
    it('numbers the events of the log densely and marks the last of each commit', async () => {
      const { store, clock } = subject()
      const session = await claimNew(subject())
      const events = [waitingEvent(clock), chunk(clock, 'one')]
      const first = await store.commit(session, newCommit(session, { events }), TTL_MS)
      const next = applyCommit(session, newCommit(session))
      await store.commit(next, newCommit(next, { events: [chunk(clock, 'two')] }), TTL_MS)
      const log = await store.readEvents(session.facts.id, 0, 10)
      expect(log.map(({ position, endsWrite }) => [position, endsWrite])).toEqual([
        [1, false],
        [2, true],
        [3, true],
      ])
      expect(first).toEqual({ kind: 'committed', events: log.slice(0, 2) })
      expect(log[0]).toEqual({ ...events[0], sessionId: session.facts.id, position: 1, endsWrite: false })
      expect(await store.readTails([session.facts.id])).toEqual(new Map([[session.facts.id, { position: 3, ended: false }]]))
    })

    it('appends history where the last item ended, and begins again in a new epoch', async () => {
      const { store, clock } = subject()
      const session = await claimNew(subject(), { history: [{ role: 'user', text: 'zero' }] })
      const { id } = session.facts
      const say = (text: string) => ({ role: 'user', text }) as const
      const one = await advance(subject(), session, {
        checkpoint: { ...session.checkpoint, historyLength: 3 },
        history: [say('one'), say('two')],
      })
      const cleared = await advance(subject(), one, {
        checkpoint: { ...one.checkpoint, historyEpoch: 1, historyLength: 0 },
        history: [say('three')],
        newEpoch: { epoch: 1, kind: 'CLEAR', at: clock.now() },
      })
      await advance(subject(), cleared, { checkpoint: { ...cleared.checkpoint, historyLength: 1 }, history: [say('anew')] })
      expect(await store.loadHistory(id, 0)).toEqual([say('zero'), say('one'), say('two'), say('three')])
      expect(await store.loadHistory(id, 1)).toEqual([say('anew')])
    })

    it('keeps the state of the author, until a commit changes it', async () => {
      const { store, clock } = subject()
      const session = await claimNew(subject())
      const { id, agent } = session.facts
      expect(session.state).toEqual({})
      const one = await advance(subject(), session, { state: { cart: { items: ['tea', null] }, flag: false } })
      const two = await advance(subject(), one, {})
      await store.commit(two, parkingCommit(two, clock), TTL_MS)
      await store.deliver(id, message(clock), null)
      expect((await claimDue(store, id, agent)).state).toEqual({ cart: { items: ['tea', null] }, flag: false })
    })

    it('keeps the lease while it drives, gives it back when it parks', async () => {
      const { store, clock } = subject()
      const session = await claimNew(subject())
      const { agent } = session.facts
      const driven = await advance(subject(), session, {})
      expect(await store.sweep({ agents: [agent], limit: 1 })).toEqual([])
      expect((await store.renew([driven.lease], TTL_MS)).has(session.facts.id)).toBe(true)
      await store.commit(driven, parkingCommit(driven, clock), TTL_MS)
      expect(await store.renew([driven.lease], TTL_MS)).toEqual(new Map())
    })

    it('of a lease that was given back is fenced: it takes nothing again', async () => {
      const { store, clock } = subject()
      const session = await claimNew(subject())
      await store.release([session.lease], 'unused')
      expect(await store.commit(session, newCommit(session, { events: [waitingEvent(clock)] }), TTL_MS)).toEqual({ kind: 'fenced' })
      expect(await store.sweep({ agents: [session.facts.agent], limit: 1 })).toEqual([session.facts.id])
    })

    it('ends a session: addresses free, log closed, lease gone', async () => {
      const { store, clock } = subject()
      const address = `end:${ids.next('ses')}`
      const session = await claimNew(subject(), { addresses: [address] })
      const outcome = await store.commit(session, endingCommit(session, clock), TTL_MS)
      expect(outcome).toMatchObject({ kind: 'committed', events: [{ type: 'SESSION_COMPLETED', position: 1 }] })
      expect(await store.findAddress('acme', address)).toBe(null)
      expect(await store.readTails([session.facts.id])).toEqual(new Map([[session.facts.id, { position: 1, ended: true }]]))
      expect(await store.renew([session.lease], TTL_MS)).toEqual(new Map())
      expect(await store.appendEvents([{ lease: session.lease, events: [chunk(clock, 'late')] }], TTL_MS)).toEqual(
        new Map([[session.facts.id, { kind: 'fenced' }]]),
      )
    })
  })
  describe('commit: rows', () => testRows(subject))
  describe('commit: what it refuses', () => testRefusals(subject))
}

function testRows(subject: Subject): void {
  it('changes calls and keeps the others', async () => {
    const { store, clock } = subject()
    const session = await claimNew(subject())
    const [turn, stepId] = [openTurn(clock), ids.next('stp')]
    const calls = [callRow(turn.id, stepId), callRow(turn.id, stepId, { order: 1, status: 'RUNNING', startedAt: clock.now() })] as const
    const checkpoint = acting(session.checkpoint, turn, stepId, calls)
    const one = await advance(subject(), session, { checkpoint, newCalls: calls })
    const result = {
      output: [1, 'two'],
      text: 'done',
      error: { code: 'X', message: 'm', retryable: false },
      truncatedBytes: 0,
      endedAt: clock.now(),
    }
    const ended = { ...calls[1], status: 'FAILED', result } as const
    const two = await advance(subject(), one, { changedCalls: [ended] }, EXPIRED_MS)
    expect((await claimDue(store, session.facts.id, session.facts.agent)).calls).toEqual(two.calls)
    expect(two.calls.get(ended.id)).toEqual(ended)
  })

  it('takes a turn that is opened and closed at once, and a later attempt of a step', async () => {
    const { clock } = subject()
    const session = await claimNew(subject())
    const [gone, turn] = [openTurn(clock), openTurn(clock, { number: 2 })]
    const one = await advance(subject(), session, { openedTurn: turnRow(gone), closedTurn: closedTurn(gone.id, clock) })
    const stepId = ids.next('stp')
    const step = { id: stepId, turnId: turn.id, index: 0, attempt: 1, model: 'm', startedAt: clock.now() }
    const two = await advance(subject(), one, {
      checkpoint: modelling(one.checkpoint, turn, stepId),
      openedTurn: turnRow(turn),
      openedStep: step,
    })
    const three = await advance(subject(), two, { openedStep: { ...step, attempt: 2 } })
    const closedStep = {
      id: stepId,
      status: 'COMPLETED',
      text: 'hi',
      reasoning: null,
      finishReason: 'STOP',
      usage: null,
      error: null,
      endedAt: clock.now(),
    } as const
    await advance(subject(), three, {
      ...parkingCommit(three, clock),
      closedStep,
      closedTurn: { ...closedTurn(turn.id, clock), status: 'COMPLETED', output: 'hi' },
    })
  })
}

function testRefusals(subject: Subject): void {
  it('refuses a move that the status table does not have, and writes nothing', async () => {
    const { store, clock } = subject()
    const session = await claimNew(subject())
    const commit = newCommit(session, { session: statusChange('HIBERNATED', clock), events: [chunk(clock, 'x')] })
    await expect(store.commit(session, commit, TTL_MS)).rejects.toThrow(/RUNNING to HIBERNATED/)
    expect(await store.readEvents(session.facts.id, 0, 10)).toEqual([])
  })

  it('refuses to park or end without looking at the inbox (R4), and a row that is named twice', async () => {
    const { store, clock } = subject()
    const session = await claimNew(subject())
    await expect(store.commit(session, parkingCommit(session, clock, { guard: 'control' }), TTL_MS)).rejects.toThrow(
      /guard control, not inbox/,
    )
    await expect(store.commit(session, endingCommit(session, clock, { guard: 'none' }), TTL_MS)).rejects.toThrow(/guard none, not inbox/)
    const call = callRow(ids.next('turn'), ids.next('stp'))
    await expect(store.commit(session, newCommit(session, { newCalls: [call], changedCalls: [call] }), TTL_MS)).rejects.toThrow(/twice/)
  })

  it('refuses an end that the status does not tell', async () => {
    const { store, clock } = subject()
    const session = await claimNew(subject())
    await expect(store.commit(session, endingCommit(session, clock, { session: statusChange('IDLE', clock) }), TTL_MS)).rejects.toThrow(
      /phase ended/,
    )
  })
}

/** Commits and goes on with the result. */
async function advance(subject: ReturnType<Subject>, session: Session, change: Partial<Commit>, ttlMs = TTL_MS): Promise<Session> {
  const commit = newCommit(session, change)
  expect(await subject.store.commit(session, commit, ttlMs)).toMatchObject({ kind: 'committed' })
  return applyCommit(session, commit)
}
