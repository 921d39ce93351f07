/** The results for people: tables for the terminal, and the same ones for docs/performance.md. */
import { judge, type Verdict } from './budget.js'
import { toRows } from './details.js'
import { toPeerTable } from './peer-table.js'
import type { Results } from './results.js'

/** The first line is the head. */
type Table = readonly (readonly string[])[]

export function toTerminalText(results: Results): string {
  return [describeRun(results).join('\n'), ...toTables(results).map(toTerminalTable)].join('\n\n')
}

function toTerminalTable(table: Table): string {
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)))
  const lines = table.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  const [head = '', ...body] = lines
  return [head, '-'.repeat(Math.max(...lines.map((line) => line.length))), ...body].join('\n')
}

function toMarkdown(results: Results): string {
  const tables = toTables(results).map(([head = [], ...body]) => [head, head.map(() => '---'), ...body].map(toMarkdownLine).join('\n'))
  return [
    describeRun(results)
      .map((line) => `- ${line}`)
      .join('\n'),
    ...tables,
  ].join('\n\n')
}

function toMarkdownLine(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}

const START = '<!-- figures: npm run bench -- --save -->'
const END = '<!-- /figures -->'

/** Puts the tables between the marks of a page. Throws when it has none. */
export function replaceFigures(page: string, results: Results): string {
  const [before, after] = [page.split(START)[0], page.split(END)[1]]
  if (before === undefined || after === undefined) throw new Error(`the page has no ${START} and ${END}`)
  return `${before}${START}\n\n${toMarkdown(results)}\n\n${END}${after}`
}

function describeRun({ version, at, machine, places }: Results): readonly string[] {
  const { cpu, cores, memoryGiB, system, node, load } = machine
  return [
    `Perdure ${version}, ${at}`,
    `${cores} × ${cpu}, ${memoryGiB} GiB, ${system}, Node ${node}, load before the run ${load.toFixed(1)}`,
    ...places.map(
      ({ kind, server, fsync, coordination }) => `${kind}: ${server}, fsync ${fsync ? 'on' : 'off'}, coordination ${coordination}`,
    ),
  ]
}

function toTables(results: Results): readonly Table[] {
  return [toBudgetTable(judge(results)), toDetailTable(results), toPeerTable(results.peers)].filter((table) => table.length > 1)
}

function toBudgetTable(verdicts: readonly Verdict[]): Table {
  const head = ['promise', 'measured', 'budget', 'met', 'stretch', 'met']
  const say = (isMet: boolean | null): string => (isMet === null ? '' : isMet ? 'yes' : 'NO')
  return [
    head,
    ...verdicts.map(({ figure, measured, budget, isMet, stretch, isStretchMet }) => [
      ...[figure, measured, budget, say(isMet)],
      ...[stretch ?? '', isStretchMet === false ? 'no' : say(isStretchMet)],
    ]),
  ]
}

function toDetailTable({ places }: Results): Table {
  const rows = toRows(places).map(({ figure, value }) => [figure, ...places.map((place) => value(place) ?? '')])
  return [['figure', ...places.map(({ kind }) => kind)], ...rows]
}
