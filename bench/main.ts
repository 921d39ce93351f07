/**
 * `npm run bench`: measures, prints a table, exits. It needs no setup; with DATABASE_URL it also measures PostgreSQL, in a database of its own
 * beside that one. Ctrl-C closes and drops everything first.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { format, resolveConfig } from 'prettier'
import { z } from 'zod'
import { loadConfig } from '../server/config.js'
import { toMessage } from '../server/errors.js'
import { replaceFigures, toTerminalTable } from './report.js'
import type { Results } from './results.js'
import { runBench } from './run.js'
import { FULL, QUICK } from './sizes.js'

const HELP = `npm run bench -- [options]

  --quick   less of everything: a quarter of the time, wider scatter
  --json    one JSON object instead of the table
  --save    also write bench/results/latest.json, and its table into docs/performance.md
  --help    this

DATABASE_URL adds PostgreSQL: a database is created beside the one it names, and dropped.`

const STOPPED = 130
const root = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))

function parseFlags(args: readonly string[]) {
  const flag = { type: 'boolean', default: false } as const
  return parseArgs({ args: [...args], options: { quick: flag, json: flag, save: flag, help: flag } }).values
}

/** The exit code. */
async function main(args: readonly string[]): Promise<number> {
  const { quick, json, save, help } = parseFlags(args)
  if (help) {
    console.log(HELP)
    return 0
  }
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Error(`stopped by ${signal}`)))
  const { version } = z.object({ version: z.string() }).parse(JSON.parse(readFileSync(root('package.json'), 'utf8')))
  const { databaseUrl } = loadConfig()
  try {
    const sizes = quick ? QUICK : FULL
    const results = await runBench({ version, sizes, databaseUrl, signal: stop.signal, say: (line) => console.error(line) })
    if (save) await keep(results)
    console.log(json ? JSON.stringify(results, null, 2) : toTerminalTable(results))
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
