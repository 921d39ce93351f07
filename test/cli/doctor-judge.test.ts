/** What the doctor makes of what it finds, where no server is broken for it. */
import { describe, expect, test } from 'vitest'
import type { Finding } from '../../server/cli/doctor/finding.js'
import { judgeDatabase } from '../../server/cli/doctor/judge-database.js'
import { judgeRedis } from '../../server/cli/doctor/judge-redis.js'
import { judgeSessions } from '../../server/cli/doctor/judge-sessions.js'
import { findingsText } from '../../server/cli/doctor/print-findings.js'
import type { Inspection, OpenedDatabase } from '../../server/inspect.js'

type ReachedRedis = Extract<NonNullable<Inspection['redis']>, { kind: 'reached' }>

const database: OpenedDatabase = {
  kind: 'open',
  engine: 'postgres',
  server: {
    versionNumber: 170_002,
    version: '17.2',
    encoding: 'UTF8',
    fsync: true,
    fullPageWrites: true,
    synchronousCommit: 'on',
    isolation: 'read committed',
    standby: false,
    readOnly: false,
    mayCreate: true,
    connections: 97,
    others: 5,
    ours: 0,
  },
  clock: { roundTripMs: 0.4, aheadMs: 2 },
  migrations: { missing: [] },
  backlog: null,
}
const redis: ReachedRedis = {
  kind: 'reached',
  server: 'redis',
  version: '7.2.4',
  role: 'master',
  memory: { used: 2 ** 20, limit: 0, policy: 'noeviction' },
  cluster: { isNode: false, addressed: false },
  roundTripMs: 0.2,
  faults: { write: null, script: null, message: null },
  processes: [],
}

const complaintsOf = (findings: readonly Finding[]) =>
  findings.filter(({ status }) => status !== 'ok').map(({ name, status }) => `${name}: ${status}`)

describe('a PostgreSQL', () => {
  const judged = (more: Partial<OpenedDatabase>, processes: number | null = 1) =>
    judgeDatabase({ ...database, ...more }, { location: 'postgresql://db/app', database: 'app', processes, poolSize: 10 })
  const server = (more: Partial<OpenedDatabase['server']>) => judged({ server: { ...database.server, ...more } })

  test.each<readonly [string, readonly Finding[], readonly string[]]>([
    ['in order', judged({}), []],
    ['with fsync off', server({ fsync: false }), ['Durability: broken']],
    ['with full_page_writes off', server({ fullPageWrites: false }), ['Durability: broken']],
    ['with synchronous_commit off', server({ synchronousCommit: 'off' }), ['Durability: warning']],
    ['that waits for its standbys too', server({ synchronousCommit: 'remote_apply' }), []],
    ['that is a standby', server({ standby: true, readOnly: true }), ['Database: broken']],
    ['of another encoding', server({ encoding: 'SQL_ASCII' }), ['Database: broken']],
    ['of another isolation', server({ isolation: 'repeatable read' }), ['Database: broken']],
    ['that is old', server({ versionNumber: 140_011, version: '14.11' }), ['Database: warning']],
    ['that is far away', judged({ clock: { roundTripMs: 45, aheadMs: 0 } }), ['Database: warning']],
    ['whose clock is a second off', judged({ clock: { roundTripMs: 1, aheadMs: -1001 } }), ['Clock: warning']],
    ['whose clock agrees', judged({ clock: { roundTripMs: 1, aheadMs: 1000 } }), []],
    ['with migrations to apply', judged({ migrations: { missing: ['1_init'] } }), ['Migrations: warning']],
    [
      'with migrations that the user may not apply',
      judged({ migrations: { missing: ['1_init'] }, server: { ...database.server, mayCreate: false } }),
      ['Migrations: broken'],
    ],
    ['with room for its processes', judged({}, 9), []],
    ['without room for its processes', judged({}, 10), ['Connections: warning']],
  ])('%s', (_, findings, complaints) => {
    expect(complaintsOf(findings)).toEqual(complaints)
  })
})

describe('a Redis', () => {
  const judged = (more: Partial<ReachedRedis>) => judgeRedis({ ...redis, ...more }, 'redis://cache:6379')
  const failing = (write: string) => judged({ faults: { ...redis.faults, write } })

  test.each<readonly [string, readonly Finding[], readonly string[]]>([
    ['in order', judged({}), []],
    ['6.2', judged({ version: '6.2.0' }), []],
    ['6.0', judged({ version: '6.0.16' }), ['Redis: broken']],
    ['Valkey of any version', judged({ server: 'valkey', version: '8.0.1' }), []],
    ['that is another server', judged({ server: 'dragonfly', version: '1.2.3' }), ['Redis: warning']],
    ['that is far away', judged({ roundTripMs: 11 }), ['Redis: warning']],
    ['nearly full', judged({ memory: { used: 81, limit: 100, policy: 'noeviction' } }), ['Redis: warning']],
    ['a node of a cluster', judged({ cluster: { isNode: true, addressed: false } }), ['Redis: broken']],
    ['a cluster', judged({ cluster: { isNode: true, addressed: true } }), []],
    ['that cannot save', failing('MISCONF Redis is configured to save RDB snapshots'), ['Redis: broken']],
    ['that loads', failing('LOADING Redis is loading the dataset in memory'), ['Redis: broken']],
  ])('%s', (_, findings, complaints) => {
    expect(complaintsOf(findings)).toEqual(complaints)
    expect(findings.filter(({ status, mend }) => status !== 'ok' && mend === null)).toEqual([])
  })
})

describe('waiting sessions', () => {
  const waiting = [{ agent: 'clerk', sessions: 2, oldestS: 90, readable: true }]

  test('whose process is not known are broken all the same', () => {
    expect(complaintsOf(judgeSessions({ waiting, newer: 0, driven: 0 }, { agents: null, isDriven: null }))).toEqual(['Sessions: broken'])
  })

  test('that cannot be read are told once, as of a newer release', () => {
    const newer = [{ agent: 'clerk', sessions: 2, oldestS: 90, readable: false }]
    const findings = judgeSessions({ waiting: newer, newer: 2, driven: 0 }, { agents: ['clerk'], isDriven: true })
    expect(findings.map(({ detail }) => detail)).toEqual(['2 sessions were written by a newer release'])
  })
})

test('what is wrong has its mend below it, and the sum at the end', () => {
  const findings: readonly Finding[] = [
    { name: 'Redis', status: 'ok', detail: 'redis 7.2.4', mend: null },
    { name: 'Clock', status: 'warning', detail: '2.0 s ahead', mend: 'set it' },
    { name: 'Configuration', status: 'broken', detail: 'agents.ts:1\n  export default 1 +', mend: 'end the line' },
    { name: 'Processes', status: 'skipped', detail: 'not known', mend: null },
  ]
  expect(findingsText(findings, { color: false })).toBe(`   ✓ Redis          redis 7.2.4
   ! Clock          2.0 s ahead
                    → set it
   ✗ Configuration  agents.ts:1
                      export default 1 +
                    → end the line
   – Processes      not known

 1 broken, 1 to look at.
`)
})
