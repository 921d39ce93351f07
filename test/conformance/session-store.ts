/** What every SessionStore does. A backend's test is `describe('name', () => testSessionStore(open))`. */
import { afterAll, beforeAll } from 'vitest'
import type { StoreUnderTest } from '../support/store-fixtures.js'
import { testAddresses } from './session-store/addresses.js'
import { testAppend } from './session-store/append.js'
import { testClaim } from './session-store/claim.js'
import { testClaims } from './session-store/claims.js'
import { testCommitOutcomes } from './session-store/commit-outcomes.js'
import { testCommit } from './session-store/commit.js'
import { testCreate } from './session-store/create.js'
import { testDeliver } from './session-store/deliver.js'
import { testLeases } from './session-store/leases.js'
import { testRequests } from './session-store/requests.js'
import { testTimeouts } from './session-store/timeouts.js'
import { testMemos } from './session-store/memos.js'
import { testText } from './session-store/text.js'

/** Hands out the store once it is open. */
export type Subject = () => StoreUnderTest

export function testSessionStore(open: () => Promise<StoreUnderTest>): void {
  let opened: StoreUnderTest | null = null
  beforeAll(async () => {
    opened = await open()
  })
  afterAll(async () => {
    await opened?.close()
  })
  const subject: Subject = () => {
    if (opened === null) throw new Error('the store is not open yet')
    return opened
  }
  testAddresses(subject)
  testCreate(subject)
  testDeliver(subject)
  testClaim(subject)
  testClaims(subject)
  testCommit(subject)
  testCommitOutcomes(subject)
  testAppend(subject)
  testLeases(subject)
  testMemos(subject)
  testRequests(subject)
  testTimeouts(subject)
  testText(subject)
}
