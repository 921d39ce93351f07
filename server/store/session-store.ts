/** The SessionStore on PostgreSQL: one statement each, see statements/. */
import type { Clock } from '../clock.js'
import type { SessionStore } from '../session/ports.js'
import type { Database } from './database.js'
import { appendEvents } from './statements/append-events.js'
import { claimAddress } from './statements/claim-address.js'
import { claim } from './statements/claim.js'
import { commit, type CommitPorts } from './statements/commit.js'
import { createSession } from './statements/create-session.js'
import { deliver } from './statements/deliver.js'
import { findAddress } from './statements/find-address.js'
import { findKey } from './statements/find-key.js'
import { hasGrant } from './statements/has-grant.js'
import { loadDeliveries } from './statements/load-deliveries.js'
import { loadHistory } from './statements/load-history.js'
import { loadMemo } from './statements/load-memo.js'
import { readEvents } from './statements/read-events.js'
import { readTails } from './statements/read-tails.js'
import { releaseAddress } from './statements/release-address.js'
import { releaseAll } from './statements/release-all.js'
import { release } from './statements/release.js'
import { renew } from './statements/renew.js'
import { saveMemo } from './statements/save-memo.js'
import { sweep } from './statements/sweep.js'

/** `clock` only turns the wake times of parking commits into delays; the database's clock judges leases. */
export function createSessionStore(database: Database, clock: Clock): SessionStore {
  const commitPorts: CommitPorts = { database, clock, shapes: new Map() }
  return {
    createSession: (session) => createSession(database, session),
    deliver: (sessionId, delivery, key) => deliver(database, sessionId, delivery, key),
    findKey: (key) => findKey(database, key),
    findAddress: (tenant, address) => findAddress(database, tenant, address),
    claimAddress: (address) => claimAddress(database, address),
    releaseAddress: (sessionId, address) => releaseAddress(database, sessionId, address),
    claim: (sessionId, options) => claim(database, sessionId, options),
    loadDeliveries: (sessionId, after) => loadDeliveries(database, sessionId, after),
    loadHistory: (sessionId, epoch) => loadHistory(database, sessionId, epoch),
    hasGrant: (sessionId, tool, to) => hasGrant(database, sessionId, tool, to),
    loadMemo: (sessionId, key) => loadMemo(database, sessionId, key),
    saveMemo: (lease, memo) => saveMemo(database, lease, memo),
    commit: (session, change, ttlMs) => commit(commitPorts, session, change, ttlMs),
    appendEvents: (batches, ttlMs) => appendEvents(database, batches, ttlMs),
    renew: (leases, ttlMs) => renew(database, leases, ttlMs),
    release: (leases, why) => release(database, leases, why),
    releaseAll: () => releaseAll(database),
    sweep: (options) => sweep(database, options),
    readEvents: (sessionId, after, limit) => readEvents(database, sessionId, after, limit),
    readTails: (sessionIds) => readTails(database, sessionIds),
  }
}
