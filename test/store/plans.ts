/** How PostgreSQL means to run a statement. */
import type { SqlValue } from '../../server/store/json-column.js'
import type { OpenStore } from '../../server/store/open.js'

export interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Index Cond'?: string
  readonly 'Recheck Cond'?: string
  readonly Plans?: readonly PlanNode[]
}

/** All nodes of its plan. */
export async function explain({ prisma }: OpenStore, text: string, values: readonly SqlValue[]): Promise<readonly PlanNode[]> {
  const rows = await prisma.$queryRawUnsafe<{ 'QUERY PLAN': [{ Plan: PlanNode }] }[]>(`EXPLAIN (FORMAT JSON) ${inline(text, values)}`)
  const plan = rows[0]?.['QUERY PLAN'][0].Plan
  if (plan === undefined) throw new Error(`no plan for ${text}`)
  return flatten(plan)
}

/** Reads a table and says nothing of which rows. */
export function readsAll(node: PlanNode): boolean {
  return (
    node['Relation Name'] !== undefined && /Scan$/.test(node['Node Type']) && (node['Index Cond'] ?? node['Recheck Cond']) === undefined
  )
}

function flatten(node: PlanNode): readonly PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(flatten)]
}

function inline(text: string, values: readonly SqlValue[]): string {
  return text.replace(/\$(\d+)/g, (_, index: string) => literal(values[Number(index) - 1] ?? null))
}

function literal(value: SqlValue): string {
  if (value === null) return 'NULL::text'
  if (typeof value === 'string') return `'${value.replaceAll("'", "''")}'`
  return typeof value === 'object' ? `ARRAY[${value.map(literal).join(', ')}]` : String(value)
}
