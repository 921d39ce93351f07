/** Writes the tables of docs/guarantees.md that the code acts on: status moves, and what becomes of deliveries. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { CONDITIONS, CONDITION_NAMES, DELIVERY_TABLE, FORMS, FORM_NAMES } from '../server/session/delivery-table.js'
import { SESSION_STATUSES, STATUS_MOVES } from '../server/session/status.js'

type Table = readonly (readonly string[])[]

const statuses: Table = [
  ['from', 'to'],
  ...SESSION_STATUSES.map((from) => [from, STATUS_MOVES[from].length === 0 ? 'the end' : STATUS_MOVES[from].join(', ')]),
]
const deliveries: Table = [
  ['arrives while', ...FORMS.map((form) => FORM_NAMES[form])],
  ...CONDITIONS.map((condition) => [CONDITION_NAMES[condition], ...FORMS.map((form) => DELIVERY_TABLE[condition][form].says)]),
]

function toMarkdown([head = [], ...rows]: Table): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** Puts the table between the marks of its name. */
function replaceTable(page: string, name: string, table: Table): string {
  const [start, end] = [`<!-- ${name}: npm run tables -->`, `<!-- /${name} -->`]
  const [before, after] = [page.split(start)[0], page.split(end)[1]]
  if (before === undefined || after === undefined) throw new Error(`the page has no ${start} and ${end}`)
  return `${before}${start}\n\n${toMarkdown(table)}\n\n${end}${after}`
}

const file = fileURLToPath(new URL('../docs/guarantees.md', import.meta.url))
const page = replaceTable(replaceTable(readFileSync(file, 'utf8'), 'statuses', statuses), 'deliveries', deliveries)
writeFileSync(file, await format(page, { ...(await resolveConfig(file)), filepath: file }))
