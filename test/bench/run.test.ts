/** The bench itself, as small as it can be: that it measures, not how fast anything is. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { replaceFigures, toTerminalTable } from '../../bench/report.js'
import { runBench } from '../../bench/run.js'
import type { Sizes } from '../../bench/sizes.js'

const TINY: Sizes = {
  rounds: 1,
  bareCommits: 3,
  steps: 2,
  stepTurns: 1,
  sends: 2,
  throughput: [
    { sessions: 1, turns: 2 },
    { sessions: 3, turns: 1 },
  ],
  throughputRounds: 1,
  lateTurn: 6,
  lateSamples: 1,
  events: 230,
  countedTurns: 2,
}

const Positive = z.number().positive()
const Timing = z.strictObject({ p50Ms: Positive, p99Ms: Positive, samples: z.number().int().positive() })
const MaybeZero = Timing.extend({ p50Ms: z.number().nonnegative(), p99Ms: z.number().nonnegative() })
const FirstEvent = z.strictObject({
  sinceSent: Timing,
  sinceAccepted: MaybeZero,
  sentToBare: Positive,
  acceptedToBare: z.number().nonnegative(),
})
const TurnCost = z.strictObject({
  turn: z.number(),
  perTurn: Timing,
  readingHistory: Timing,
  commits: z.literal(2),
  rows: Positive,
  commitBytes: Positive,
  walBytes: Positive,
})
const Counts = z.record(z.string(), Positive)
const EmbeddedResults = z.strictObject({
  kind: z.literal('embedded'),
  server: z.string().regex(/^PGlite, PostgreSQL \d/),
  fsync: z.literal(false),
  bareCommit: Timing,
  toolStep: z.strictObject({ perStep: Timing, statements: Timing, toBare: Positive, toStatements: Positive }),
  firstEvent: z.strictObject({ inProcess: FirstEvent, http: FirstEvent }),
  throughput: z.array(z.strictObject({ way: z.enum(['in process', 'http']), sessions: z.number(), turnsPerSecond: Positive })),
  longSession: z.strictObject({ early: TurnCost, late: TurnCost, lateToEarly: Positive, lateToEarlyWithoutHistory: Positive }),
  replay: z.strictObject({ events: z.literal(TINY.events), store: Positive, feed: Positive, graphql: Positive }),
  transactions: z.strictObject({ simpleTurn: Counts, oneToolTurn: Counts }),
})
const Machine = z.strictObject({
  cpu: z.string(),
  cores: Positive,
  memoryGiB: Positive,
  system: z.string(),
  node: z.literal(process.version),
  load: z.number(),
})
const ResultsSchema = z.strictObject({
  version: z.literal('9.9.9'),
  at: z.iso.datetime(),
  machine: Machine,
  databases: z.tuple([EmbeddedResults]),
})

/** Where the bench makes its folders. */
let temporary: string
let inherited: string | undefined
beforeEach(async () => {
  inherited = process.env['TMPDIR']
  temporary = await mkdtemp(join(tmpdir(), 'bench-test-'))
  process.env['TMPDIR'] = temporary
})
afterEach(async () => {
  if (inherited === undefined) delete process.env['TMPDIR']
  else process.env['TMPDIR'] = inherited
  await rm(temporary, { recursive: true, force: true })
})

function run(signal: AbortSignal, say: (line: string) => void) {
  return runBench({ version: '9.9.9', sizes: TINY, databaseUrl: null, signal, say })
}

describe('the bench', () => {
  it('finds every figure on the embedded database, tells them in one table, and leaves nothing behind', async () => {
    const said: string[] = []
    const results = await run(new AbortController().signal, (line) => said.push(line))
    const [embedded] = ResultsSchema.parse(JSON.parse(JSON.stringify(results))).databases
    expect(said.filter((line) => line.startsWith('!'))).toEqual([])
    expect(embedded.throughput.map(({ way, sessions }) => [way, sessions])).toEqual([
      ['in process', 1],
      ['in process', 3],
      ['http', 3],
    ])
    expect(embedded.longSession.late.turn).toBe(TINY.lateTurn)
    expect(embedded.transactions.simpleTurn).toMatchObject({ deliver: 1, claim: 1, 'load-history': 1 })
    expect(toTerminalTable(results)).toContain('one-tool step')
    const page = 'before\n<!-- figures: npm run bench -- --save -->\nold\n<!-- /figures -->\nafter\n'
    const replaced = replaceFigures(page, results)
    expect(replaced).toMatch(/^before\n<!-- figures.*\n\n- Perdure 9\.9\.9[\s\S]*\| bare commit \|[\s\S]*<!-- \/figures -->\nafter\n$/)
    expect(replaceFigures(replaced, results)).toBe(replaced)
    expect(await readdir(temporary)).toEqual([])
  })

  it('that is stopped in the middle says so, and leaves nothing behind', async () => {
    const stop = new AbortController()
    const stopped = run(stop.signal, () => stop.abort(new Error('enough')))
    await expect(stopped).rejects.toThrow('enough')
    expect(await readdir(temporary)).toEqual([])
  })

  it('does not touch a page without marks for the table', () => {
    expect(() => replaceFigures('no marks', { version: '', at: '', machine: Machine.parse(MACHINE), databases: [] })).toThrow(
      'the page has no <!-- figures',
    )
  })
})

const MACHINE = { cpu: 'x', cores: 1, memoryGiB: 1, system: 'x', node: process.version, load: 0 }
