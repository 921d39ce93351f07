/** What the bench says of the figures that it found, without finding any. */
import { describe, expect, it } from 'vitest'
import { judge } from '../../bench/budget.js'
import { toTerminalText } from '../../bench/report.js'
import type { Figures, Held, PeerSide, Results, Waiting } from '../../bench/results.js'
import { OWN_ROWS, parseRows } from '../../bench/rows.js'

const MACHINE = { cpu: 'x', cores: 2, memoryGiB: 8, system: 'x', node: 'v20', load: 0 }
const TIMING = { p50Ms: 2, p99Ms: 3, samples: 10 }

function resultsOf(figures: Partial<Figures>, peers: Results['peers'] = null): Results {
  const place = { kind: 'postgres', server: 'PostgreSQL 15', fsync: true, coordination: 'redis' } as const
  const embedded = { ...place, kind: 'embedded', figures: { replay: { events: 1, store: 1, feed: 1, graphql: 1 } } } as const
  return { version: '1', at: '', machine: MACHINE, places: [embedded, { ...place, figures }], peers }
}

function peer(name: string, afterKillMs: number | null): PeerSide {
  const longSession = { early: 5, late: 300, earlyMs: 4, lateMs: 6, lateToEarly: 1.5 }
  const rest = {
    storage: 'files',
    sessions: 32,
    turnsPerSecond: 10,
    firstEvent: TIMING,
    turn: TIMING,
    perStepMs: 1,
    longSession,
    capMs: 60_000,
  }
  return { name, afterKillMs, ...rest }
}

const HELD: Held = { leases: 0, connections: 2, timersBefore: 3, timers: 3 }

/** What many hold that few do not, or the process did not before. */
function waiting(held: Partial<Held>, change: Partial<Waiting> = {}): Waiting {
  const side = { sessions: 1000, started: TIMING, turn: TIMING, queue: TIMING, held: HELD, startMs: 500, residentMiB: 200, databaseMiB: 10 }
  const many = { ...side, sessions: 100_000, held: { ...HELD, ...held } }
  return { few: side, many, manyToFew: 1, turnManyToFew: 1, queueManyToFew: 1, ...change }
}

describe('the verdicts', () => {
  it('a promise is kept up to its bound and not beyond, its stretch apart', () => {
    const step = (toBare: number) => judge(resultsOf({ toolStep: { perStep: TIMING, statements: TIMING, toBare, toStatements: 1.31 } }))
    expect(step(4)).toMatchObject([
      { isMet: true, isStretchMet: true },
      { isMet: false, isStretchMet: null },
    ])
    expect(step(5)).toMatchObject([{ isMet: true, isStretchMet: false, budget: '≤ 5.00 ×', stretch: '≤ 4.00 ×' }, {}])
    expect(step(5.01)).toMatchObject([{ isMet: false }, {}])
  })

  it('what must be many is kept from its bound on', () => {
    const replay = (graphql: number) => judge(resultsOf({ replay: { events: 1, store: 50_000, feed: 1, graphql } }))
    expect(replay(20_000)).toMatchObject([{ isMet: true }, { isMet: true }])
    expect(replay(19_999)).toMatchObject([{ isMet: true }, { isMet: false }])
  })

  it('a lost turn or a call that ran twice breaks the promise, however fast the rest was', () => {
    const pickUp = { leaseTtlMs: 10_000, pickedUp: TIMING, maxMs: 11_000, kills: 6, lost: 1, repeatedCalls: 0 }
    expect(judge(resultsOf({ pickUp })).map(({ isMet }) => isMet)).toEqual([true, false, true])
  })

  it('sessions that wait hold nothing: one lease, timer or connection breaks the promise', () => {
    const held = (of: Partial<Held>) => judge(resultsOf({ waiting: waiting(of) })).at(-1)
    expect(held({})).toMatchObject({ figure: '… leases, timers, connections for them', measured: '0', budget: '≤ 0', isMet: true })
    for (const more of [{ leases: 1 }, { timers: 4 }, { connections: 3 }]) expect(held(more)).toMatchObject({ measured: '1', isMet: false })
  })

  it('sessions that wait are answered as fast when they are many, the whole turn and the queue too', () => {
    const slow = { manyToFew: 1.21, turnManyToFew: 1.2, queueManyToFew: 3 }
    expect(judge(resultsOf({ waiting: waiting({}, slow) })).map(({ isMet }) => isMet)).toEqual([false, true, false, true, true])
  })

  it('judge PostgreSQL, not the embedded database beside it; what was not measured has none', () => {
    expect(judge(resultsOf({}))).toEqual([])
  })

  it('the peers stand side by side, and a turn that did not come back says so', () => {
    const text = toTerminalText(resultsOf({}, { perdure: peer('Perdure', 900), eve: peer('eve', null), turnsRatio: 20 }))
    expect(text).toMatch(/turns\/s, 32 sessions, to eve +20\.00 × +≥ 15\.00 × +yes +≥ 25\.00 × +no/)
    expect(text).toMatch(/goes on +0\.9 s +not within 60\.0 s/)
  })
})

describe('the rows', () => {
  it('are named with commas; one that there is not is said, with those that there are', () => {
    expect([...parseRows('fan-out, replay')]).toEqual(['fan-out', 'replay'])
    expect(() => parseRows('fan-in')).toThrow('there is no row "fan-in"; there are tool-step, first-event')
  })

  it('of an ordinary run leave the peers out, who have to be installed', () => {
    expect(OWN_ROWS.has('peers')).toBe(false)
    expect(OWN_ROWS.has('pick-up')).toBe(true)
  })
})
