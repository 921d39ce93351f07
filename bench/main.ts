/**
 * `npm run bench`: measures, prints tables, exits. It needs no setup; with DATABASE_URL it also measures PostgreSQL, in databases of its own
 * beside that one, and with REDIS_URL what takes several processes. Ctrl-C closes and drops everything first.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { format, resolveConfig } from 'prettier'
import { z } from 'zod'
import { loadConfig } from '../server/config.js'
import { toMessage } from '../server/errors.js'
import type { Place } from './place.js'
import { replaceFigures, toTerminalText } from './report.js'
import type { Results } from './results.js'
import { OWN_ROWS, parseRows, ROWS, type RowName } from './rows.js'
import { runBench } from './run.js'
import { FULL, QUICK } from './sizes.js'

const HELP = `npm run bench -- [options]

  --quick        less of everything: a fraction of the time, wider scatter
  --only ROWS    some rows, with commas between them
  --on KIND      embedded or postgres: only there
  --peers        also the same work done by eve, which it installs on the first run
  --json         one JSON object instead of the tables
  --save         also write bench/results/latest.json, and its tables into docs/performance.md; with --peers, if they are to stay there
  --help         this

Rows:
${Object.entries(ROWS)
  .map(([name, summary]) => `  ${name.padEnd(13)}  ${summary}`)
  .join('\n')}

DATABASE_URL adds PostgreSQL: databases are created beside the one it names, and dropped. With REDIS_URL processes meet there.`

const STOPPED = 130
const root = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))

interface Flags {
  readonly rows: ReadonlySet<RowName>
  readonly kinds: ReadonlySet<Place['kind']>
  readonly quick: boolean
  readonly json: boolean
  readonly save: boolean
  readonly help: boolean
}

/** Throws a sentence for a person. */
function parseFlags(args: readonly string[]): Flags {
  const flag = { type: 'boolean', default: false } as const
  const text = { type: 'string' } as const
  const options = { quick: flag, json: flag, save: flag, help: flag, peers: flag, only: text, on: text }
  const { only, on, peers, ...values } = parseArgs({ args: [...args], options }).values
  if (on !== undefined && on !== 'embedded' && on !== 'postgres') throw new Error(`--on is "${on}"; it must be embedded or postgres`)
  if (values.save && (only !== undefined || on !== undefined || values.quick)) {
    throw new Error('--save keeps a whole run: leave out --only, --on and --quick')
  }
  const rows = only === undefined ? OWN_ROWS : parseRows(only)
  return {
    ...values,
    rows: peers ? new Set([...rows, 'peers']) : rows,
    kinds: new Set(on === undefined ? ['embedded', 'postgres'] : [on]),
  }
}

/** The exit code. */
async function main(args: readonly string[]): Promise<number> {
  const { quick, json, save, help, rows, kinds } = parseFlags(args)
  if (help) {
    console.log(HELP)
    return 0
  }
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Error(`stopped by ${signal}`)))
  const { version } = z.object({ version: z.string() }).parse(JSON.parse(readFileSync(root('package.json'), 'utf8')))
  const { databaseUrl, redisUrl } = loadConfig()
  try {
    const results = await runBench({
      ...{ version, rows, kinds, sizes: quick ? QUICK : FULL, services: { databaseUrl, redisUrl }, signal: stop.signal },
      say: (line) => console.error(line),
    })
    if (save) await keep(results)
    console.log(json ? JSON.stringify(results, null, 2) : toTerminalText(results))
    return 0
  } catch (thrown) {
    console.error(stop.signal.aborted ? toMessage(stop.signal.reason) : thrown)
    return stop.signal.aborted ? STOPPED : 1
  }
}

async function keep(results: Results): Promise<void> {
  const page = root('docs/performance.md')
  mkdirSync(root('bench/results'), { recursive: true })
  await writeFormatted(root('bench/results/latest.json'), JSON.stringify(results))
  await writeFormatted(page, replaceFigures(readFileSync(page, 'utf8'), results))
}

/** As `npm run format` would leave it. */
async function writeFormatted(path: string, text: string): Promise<void> {
  writeFileSync(path, await format(text, { ...(await resolveConfig(path)), filepath: path }))
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (thrown) {
  console.error(`${toMessage(thrown)}\n\n${HELP}`)
  process.exitCode = 2
}
