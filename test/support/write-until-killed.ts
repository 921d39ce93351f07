/** Commits to one session of an embedded database without end, and prints the position of each commit that was acknowledged. */
import { systemClock as clock } from '../../server/clock.js'
import { openStore } from '../../server/store/open.js'
import { TTL_MS, claimNew, newCommit, waitingEvent } from './store-fixtures.js'

const [, , dataDir = '', migrationsDir = ''] = process.argv
const opened = await openStore({ databaseUrl: null, dataDir, migrationsDir, clock })
let session = await claimNew({ ...opened, clock })
for (;;) {
  const outcome = await opened.store.commit(session, newCommit(session, { events: [waitingEvent(clock)] }), TTL_MS)
  if (outcome.kind !== 'committed') throw new Error(outcome.kind)
  session = { ...session, revision: session.revision + 1 }
  process.stdout.write(`${outcome.events.at(-1)?.position ?? 0}\n`)
}
