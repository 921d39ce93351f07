import { describe, expect, it } from 'vitest'
import { BOB, cancel, claimDue, message, newKey, newSession } from '../../support/store-fixtures.js'
import type { Subject } from '../session-store.js'

export function testCreate(subject: Subject): void {
  describe('createSession', () => {
    it('makes a session that is parked until something arrives', async () => {
      const { store, clock } = subject()
      const made = newSession(clock)
      expect(await store.createSession(made)).toEqual({ kind: 'created', sessionId: made.id, deliveryId: null })
      expect(await store.sweep({ agents: [made.agent], limit: 10 })).toEqual([])
      expect(await store.readTails([made.id])).toEqual(new Map([[made.id, { position: 0, ended: false }]]))
    })

    it('takes the first message with it: the session is RUNNING and due', async () => {
      const { store, clock } = subject()
      const first = message(clock, 'begin')
      const made = newSession(clock, { firstDelivery: first, title: 'T', metadata: { plan: ['a', 1, null] } })
      expect(await store.createSession(made)).toEqual({ kind: 'created', sessionId: made.id, deliveryId: first.id })
      const session = await claimDue(store, made.id, made.agent)
      expect(session.status).toBe('RUNNING')
      expect(session.facts).toEqual({
        id: made.id,
        agent: made.agent,
        mode: made.mode,
        tenant: made.owner.tenant,
        owner: made.owner,
        deployment: 'test',
        metadata: { plan: ['a', 1, null] },
        title: 'T',
        idleTimeoutMs: null,
      })
      const { id, by, acceptedAt } = first
      expect(session.deliveries).toEqual([{ ...first.content, id, by, acceptedAt, position: 1, openTurnId: null }])
      expect([session.inbox, session.control]).toEqual([1, 0])
    })

    it('leaves a session CREATED whose first delivery starts no turn', async () => {
      const { store, clock } = subject()
      const made = newSession(clock, { firstDelivery: cancel(clock) })
      await store.createSession(made)
      const session = await claimDue(store, made.id, made.agent)
      expect([session.status, session.inbox, session.control]).toEqual(['CREATED', 1, 1])
    })

    it('begins its history with an imported conversation', async () => {
      const { store, clock } = subject()
      const history = [
        { role: 'user', text: 'one' },
        { role: 'assistant', text: 'two', calls: [], interrupted: false },
      ] as const
      const made = newSession(clock, { history, firstDelivery: message(clock) })
      await store.createSession(made)
      expect(await store.loadHistory(made.id, 0)).toEqual(history)
      const { checkpoint } = await claimDue(store, made.id, made.agent)
      expect([checkpoint.historyEpoch, checkpoint.historyLength, checkpoint.phase]).toEqual([0, 2, { kind: 'created' }])
    })
  })
  describe('createSession: addresses', () => testAddresses(subject))
  describe('createSession: keys', () => testKeys(subject))
}

function testAddresses(subject: Subject): void {
  it('claims its addresses, once each, for its tenant', async () => {
    const { store, clock } = subject()
    const made = newSession(clock)
    const address = `chat:${made.id}`
    await store.createSession({ ...made, addresses: [address, address] })
    expect(await store.findAddress(made.owner.tenant, address)).toBe(made.id)
    expect(await store.findAddress('another', address)).toBe(null)
  })

  it('tells the holder of a taken address and makes nothing', async () => {
    const { store, clock } = subject()
    const holder = newSession(clock)
    const [taken, free] = [`chat:${holder.id}`, `mail:${holder.id}`]
    await store.createSession({ ...holder, addresses: [taken] })
    const late = newSession(clock, { addresses: [free, taken], idempotency: newKey() })
    expect(await store.createSession(late)).toEqual({ kind: 'address-taken', address: taken, holder: holder.id })
    expect(await store.findAddress(holder.owner.tenant, free)).toBe(null)
    expect(await store.readTails([late.id])).toEqual(new Map())
    expect(late.idempotency && (await store.findKey(late.idempotency))).toBe(null)
  })

  it('of racing creates for one address exactly one wins, and all learn of it', async () => {
    const { store, clock } = subject()
    const address = `race:${newSession(clock).id}`
    const racers = Array.from({ length: 6 }, () => newSession(clock, { addresses: [address], firstDelivery: message(clock) }))
    const outcomes = await Promise.all(racers.map((racer) => store.createSession(racer)))
    const winners = outcomes.filter((outcome) => outcome.kind === 'created')
    expect(winners).toHaveLength(1)
    const holder = winners[0]?.sessionId
    expect(await store.findAddress('acme', address)).toBe(holder)
    expect(outcomes.filter((outcome) => outcome.kind !== 'created')).toEqual(Array(5).fill({ kind: 'address-taken', address, holder }))
  })
}

function testKeys(subject: Subject): void {
  it('gives the first session again for the same key, even when its address is taken by then', async () => {
    const { store, clock } = subject()
    const idempotency = newKey()
    const first = newSession(clock, { addresses: [`key:${idempotency.key}`], firstDelivery: message(clock), idempotency })
    await store.createSession(first)
    const again = await store.createSession({ ...newSession(clock), addresses: first.addresses, idempotency })
    expect(again).toEqual({ kind: 'duplicate', sessionId: first.id, deliveryId: first.firstDelivery?.id })
  })

  it('refuses the key for something else', async () => {
    const { store, clock } = subject()
    const idempotency = newKey()
    await store.createSession(newSession(clock, { idempotency }))
    const other = await store.createSession(newSession(clock, { idempotency: { ...idempotency, hash: 'other' } }))
    expect(other).toEqual({ kind: 'mismatch' })
  })

  it('keeps the keys of two principals apart', async () => {
    const { store, clock } = subject()
    const idempotency = newKey()
    await store.createSession(newSession(clock, { idempotency }))
    const outcome = await store.createSession(newSession(clock, { owner: BOB, idempotency: { ...idempotency, by: BOB } }))
    expect(outcome.kind).toBe('created')
    expect(await store.findKey(newKey())).toBe(null)
  })

  it('racing callers with one key all get the winner', async () => {
    const { store, clock } = subject()
    const idempotency = newKey()
    const racers = Array.from({ length: 6 }, () => newSession(clock, { firstDelivery: message(clock), idempotency }))
    const outcomes = await Promise.all(racers.map((racer) => store.createSession(racer)))
    expect(outcomes.filter((outcome) => outcome.kind === 'created')).toHaveLength(1)
    expect(new Set(outcomes.map((outcome) => ('sessionId' in outcome ? outcome.sessionId : outcome.kind))).size).toBe(1)
  })
}
