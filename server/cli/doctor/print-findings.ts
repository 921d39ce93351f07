import { paint, type Style, type Terminal } from '../terminal.js'
import type { Finding } from './finding.js'

const MARKS = { ok: ['green', '✓'], warning: ['yellow', '!'], broken: ['red', '✗'], skipped: ['dim', '–'] } as const satisfies Record<
  Finding['status'],
  readonly [Style, string]
>

/** One line each, with the mend under what is wrong, and the sum of it at the end. */
export function findingsText(findings: readonly Finding[], terminal: Pick<Terminal, 'color'>): string {
  const width = Math.max(...findings.map(({ name }) => name.length))
  const indent = ' '.repeat(width + 7)
  const lines = findings.flatMap(({ name, status, detail, mend }) => {
    const [style, mark] = MARKS[status]
    const [first = '', ...rest] = detail.split('\n')
    const head = `   ${paint(terminal, style, mark)} ${paint(terminal, 'bold', name.padEnd(width))}  ${status === 'skipped' ? paint(terminal, 'dim', first) : first}`
    return [head, ...rest.map((line) => `${indent}${line}`), ...(mend === null ? [] : [`${indent}→ ${mend}`])]
  })
  return `${lines.join('\n')}\n\n ${paint(terminal, 'bold', sum(findings))}\n`
}

function sum(findings: readonly Finding[]): string {
  const count = (status: Finding['status']): number => findings.filter((finding) => finding.status === status).length
  const [isBroken, warnings] = [count('broken'), count('warning')]
  const parts = [...(isBroken > 0 ? [`${isBroken} broken`] : []), ...(warnings > 0 ? [`${warnings} to look at`] : [])]
  return parts.length === 0 ? 'Everything is fine.' : `${parts.join(', ')}.`
}
