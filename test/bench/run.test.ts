/** The bench itself, as small as it can be: that it measures, not how fast anything is. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Place } from '../../bench/place.js'
import { replaceFigures, toTerminalText } from '../../bench/report.js'
import { OWN_ROWS } from '../../bench/rows.js'
import { runBench } from '../../bench/run.js'
import { Machine, ResultsSchema } from './figures.js'
import { TINY } from './tiny.js'

const KINDS: ReadonlySet<Place['kind']> = new Set(['embedded'])
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
  const services = { databaseUrl: null, redisUrl: null }
  return runBench({ version: '9.9.9', sizes: TINY, rows: OWN_ROWS, kinds: KINDS, services, signal, say })
}

/** What the bench made there. Whatever starts TypeScript keeps a cache of its own. */
async function leftovers(): Promise<readonly string[]> {
  return (await readdir(temporary)).filter((name) => name.startsWith('perdure'))
}

describe('the bench on the embedded database', () => {
  it('finds every figure that needs no services, tells them in one table, and leaves nothing behind', async ({ signal }) => {
    const said: string[] = []
    const results = await run(signal, (line) => said.push(line))
    const [embedded] = ResultsSchema.parse(JSON.parse(JSON.stringify(results))).places
    expect(said.filter((line) => line.startsWith('!'))).toEqual([])
    expect(embedded).toMatchObject({ kind: 'embedded', server: expect.stringMatching(/^PGlite/), fsync: false, coordination: 'local' })
    const { throughput, longSession, transactions, ...figures } = embedded?.figures ?? {}
    expect(Object.keys(figures).sort()).toEqual(['bareCommit', 'fanOut', 'firstEvent', 'replay', 'toolStep'])
    expect(throughput?.map(({ way, sessions }) => [way, sessions])).toEqual([
      ['in process', 1],
      ['in process', 3],
      ['http', 3],
    ])
    expect(figures.replay?.events).toBe(TINY.events)
    expect(longSession?.late.turn).toBe(TINY.lateTurn)
    expect(transactions?.simpleTurn).toMatchObject({ deliver: 1, claim: 1 })
    expect(transactions?.simpleTurn).not.toHaveProperty('load-history')
    expect(await leftovers()).toEqual([])

    expect(toTerminalText(results)).toMatch(/\npromise .*\n-+\n[\s\S]*\nfigure .*embedded\n-+\nbare commit /)
    const page = 'before\n<!-- figures: npm run bench -- --save -->\nold\n<!-- /figures -->\nafter\n'
    const replaced = replaceFigures(page, results)
    expect(replaced).toMatch(/^before\n<!-- figures.*\n\n- Perdure 9\.9\.9[\s\S]*\| bare commit \|[\s\S]*<!-- \/figures -->\nafter\n$/)
    expect(replaceFigures(replaced, results)).toBe(replaced)
  }, 300_000)

  it('that is stopped in the middle says so, and leaves nothing behind', async () => {
    const stop = new AbortController()
    const stopped = run(stop.signal, () => stop.abort(new Error('enough')))
    await expect(stopped).rejects.toThrow('enough')
    expect(await leftovers()).toEqual([])
  }, 300_000)

  it('does not touch a page without marks for the tables', () => {
    const machine = Machine.parse({ cpu: 'x', cores: 1, memoryGiB: 1, system: 'x', node: process.version, load: 0 })
    const empty = { version: '', at: '', machine, places: [], peers: null }
    expect(() => replaceFigures('no marks', empty)).toThrow('the page has no <!-- figures')
  })
})
