/** The results for people: a table for the terminal, and the same one for docs/performance.md. */
import type { Counts, DatabaseResults, FirstEvent, Results, Throughput, Timing, TurnCost } from './results.js'

interface Row {
  readonly figure: string
  readonly value: (database: DatabaseResults) => string
}

export function toTerminalTable(results: Results): string {
  const rows = toCells(results)
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  const [head = '', ...body] = lines
  return [...describeRun(results), '', head, '-'.repeat(Math.max(...lines.map((line) => line.length))), ...body].join('\n')
}

export function toMarkdown(results: Results): string {
  const [head = [], ...body] = toCells(results)
  const toLine = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  const table = [toLine(head), toLine(head.map(() => '---')), ...body.map(toLine)]
  return [...describeRun(results).map((line) => `- ${line}`), '', ...table].join('\n')
}

const START = '<!-- figures: npm run bench -- --save -->'
const END = '<!-- /figures -->'

/** Puts the table between the marks of a page. Throws when it has none. */
export function replaceFigures(page: string, results: Results): string {
  const [before, after] = [page.split(START)[0], page.split(END)[1]]
  if (before === undefined || after === undefined) throw new Error(`the page has no ${START} and ${END}`)
  return `${before}${START}\n\n${toMarkdown(results)}\n\n${END}${after}`
}

function describeRun({ version, at, machine, databases }: Results): readonly string[] {
  const { cpu, cores, memoryGiB, system, node, load } = machine
  return [
    `Perdure ${version}, ${at}`,
    `${cores} × ${cpu}, ${memoryGiB} GiB, ${system}, Node ${node}, load before the run ${load.toFixed(1)}`,
    ...databases.map(({ kind, server, fsync }) => `${kind}: ${server}, fsync ${fsync ? 'on' : 'off'}`),
  ]
}

function toCells({ databases }: Results): readonly (readonly string[])[] {
  const [first] = databases
  const rows = first === undefined ? [] : toRows(first, databases)
  const head = ['figure', ...databases.map(({ kind }) => kind)]
  return [head, ...rows.map(({ figure, value }) => [figure, ...databases.map(value)])]
}

/** The sizes of a run, and so its rows, are the same on each database; only the statements may differ. */
function toRows({ throughput, longSession, replay }: DatabaseResults, all: readonly DatabaseResults[]): readonly Row[] {
  const { early, late } = longSession
  return [
    { figure: 'bare commit', value: ({ bareCommit }) => toSpan(bareCommit) },
    { figure: 'one-tool step', value: ({ toolStep }) => `${toSpan(toolStep.perStep)}; ${toTimes(toolStep.toBare)} bare` },
    { figure: '… its statements alone', value: ({ toolStep }) => toSpan(toolStep.statements) },
    { figure: '… step to statements', value: ({ toolStep }) => toTimes(toolStep.toStatements) },
    ...firstEventRows('in process', ({ firstEvent }) => firstEvent.inProcess),
    ...firstEventRows('GraphQL', ({ firstEvent }) => firstEvent.http),
    ...throughput.map((load, index) => throughputRow(load, index)),
    ...turnRows(early, (database) => database.longSession.early),
    ...turnRows(late, (database) => database.longSession.late),
    { figure: `turn ${late.turn} to turn ${early.turn}`, value: (database) => toTimes(database.longSession.lateToEarly) },
    { figure: '… without reading history', value: (database) => toTimes(database.longSession.lateToEarlyWithoutHistory) },
    { figure: `replay of ${replay.events} events, store`, value: (database) => `${toCount(database.replay.store)}/s` },
    { figure: '… feed', value: (database) => `${toCount(database.replay.feed)}/s` },
    { figure: '… GraphQL over SSE', value: (database) => `${toCount(database.replay.graphql)}/s` },
    ...countRows('simple turn', all, ({ transactions }) => transactions.simpleTurn),
    ...countRows('one-tool turn', all, ({ transactions }) => transactions.oneToolTurn),
  ]
}

function firstEventRows(way: string, pick: (database: DatabaseResults) => FirstEvent): readonly Row[] {
  const row = (figure: string, timing: (of: FirstEvent) => Timing, ratio: (of: FirstEvent) => number): Row => ({
    figure,
    value: (database) => `${toSpan(timing(pick(database)))}; ${toTimes(ratio(pick(database)))} bare`,
  })
  return [
    row(
      `accepted → first event, ${way}`,
      (of) => of.sinceAccepted,
      (of) => of.acceptedToBare,
    ),
    row(
      `sent → first event, ${way}`,
      (of) => of.sinceSent,
      (of) => of.sentToBare,
    ),
  ]
}

function throughputRow({ way, sessions }: Throughput, index: number): Row {
  const name = way === 'http' ? 'GraphQL' : way
  return {
    figure: `turns, ${sessions} session${sessions === 1 ? '' : 's'}, ${name}`,
    value: ({ throughput }) => `${toCount(throughput[index]?.turnsPerSecond ?? Number.NaN)}/s`,
  }
}

function turnRows({ turn }: TurnCost, pick: (database: DatabaseResults) => TurnCost): readonly Row[] {
  return [
    { figure: `turn ${turn}`, value: (database) => toSpan(pick(database).perTurn) },
    { figure: '… of it reading history', value: (database) => toSpan(pick(database).readingHistory) },
    { figure: '… written', value: (database) => toWritten(pick(database)) },
  ]
}

function toWritten({ rows, commits, commitBytes, walBytes }: TurnCost): string {
  const counted = rows === null ? '' : `${rows} rows, `
  return `${counted}${commits} commits of ${toCount(commitBytes / commits)} B, WAL ${toCount(walBytes)} B`
}

function countRows(turn: string, all: readonly DatabaseResults[], pick: (database: DatabaseResults) => Counts): readonly Row[] {
  const names = [...new Set(all.flatMap((database) => Object.keys(pick(database))))]
  const sum = (counts: Counts): number => Object.values(counts).reduce((total, count) => total + count, 0)
  return [
    { figure: `transactions, ${turn}`, value: (database) => toShortNumber(sum(pick(database))) },
    ...names.map((name) => ({ figure: `… ${name}`, value: (database: DatabaseResults) => toShortNumber(pick(database)[name] ?? 0) })),
  ]
}

function toSpan({ p50Ms, p99Ms }: Timing): string {
  return `${p50Ms.toFixed(2)} ms (p99 ${p99Ms.toFixed(2)})`
}

function toTimes(ratio: number): string {
  return `${ratio.toFixed(2)} ×`
}

function toCount(value: number): string {
  return Math.round(value).toLocaleString('en')
}

function toShortNumber(value: number): string {
  return String(Number(value.toFixed(2)))
}
