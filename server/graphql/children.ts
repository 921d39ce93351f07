/**
 * The rows that hang on a session, a turn or a step, in pages: one statement a relation and page, for however many parents the
 * resolvers of a request ask at once. Each parent's page is read from an index, by keyset; what is before it is never read.
 */
import { Prisma, type PrismaClient } from '../generated/prisma/client.js'
import type { Address, Delivery, Event, History, Request, Step, ToolCall, Turn } from '../generated/prisma/client.js'
import { isId, type IdPrefix } from '../ids.js'
import { createBatch, type Batch } from './batch.js'
import { readRows } from './column-codec.js'
import { toPage, type Page, type PageArguments } from './page.js'

/** Where the rows of a relation are, what they hang on, and the columns that order them among their siblings. */
interface Relation {
  readonly table: string
  readonly parent: string
  readonly key: readonly string[]
}
interface RelationRows {
  readonly turnsOfSession: Turn
  readonly stepsOfTurn: Step
  readonly callsOfTurn: ToolCall
  readonly callsOfStep: ToolCall
  readonly deliveriesOfSession: Delivery
  readonly deliveriesOfTurn: Delivery
  readonly eventsOfSession: Event
  readonly addressesOfSession: Address
  readonly historyOfSession: History
  readonly requestsOfSession: Request
  readonly requestsOfCall: Request
}
export type RelationName = keyof RelationRows

const RELATIONS: Readonly<Record<RelationName, Relation>> = {
  turnsOfSession: { table: 'turn', parent: 'session_id', key: ['number'] },
  stepsOfTurn: { table: 'step', parent: 'turn_id', key: ['index'] },
  callsOfTurn: { table: 'tool_call', parent: 'turn_id', key: ['step_index', 'order'] },
  callsOfStep: { table: 'tool_call', parent: 'step_id', key: ['order'] },
  deliveriesOfSession: { table: 'delivery', parent: 'session_id', key: ['position'] },
  deliveriesOfTurn: { table: 'delivery', parent: 'turn_id', key: ['position'] },
  eventsOfSession: { table: 'event', parent: 'session_id', key: ['position'] },
  addressesOfSession: { table: 'address', parent: 'session_id', key: ['address'] },
  historyOfSession: { table: 'history', parent: 'session_id', key: ['epoch', 'position'] },
  requestsOfSession: { table: 'request', parent: 'session_id', key: ['id'] },
  requestsOfCall: { table: 'request', parent: 'tool_call_id', key: ['id'] },
}

/** The numbers of a row's key, or its id. */
export type Key = readonly (number | string)[]

export interface Children {
  /** Up to `limit + 1` rows of one parent, in the order of the page. `filter` is a condition on `child`. */
  load<Name extends RelationName>(name: Name, parent: string, page: Page<Key>, filter?: Prisma.Sql): Promise<readonly RelationRows[Name][]>
}

interface Ask {
  readonly name: RelationName
  readonly page: Page<Key>
  readonly filter: Prisma.Sql | undefined
}
type Row = Readonly<Record<string, unknown>>

/** For one request. Nothing is told of what hangs on a session of `outlines`. */
export function createChildren(prisma: PrismaClient, outlines: ReadonlySet<string>): Children {
  const batches = new Map<string, Batch<string, readonly Row[]>>()
  return {
    async load(name, parent, page, filter) {
      if (outlines.has(parent)) return []
      const id = JSON.stringify([name, page, filter?.sql, filter?.values])
      const batch = batches.get(id) ?? createBatch((parents) => readChildren(prisma, { name, page, filter }, parents))
      batches.set(id, batch)
      return readRows<RelationRows[typeof name]>(await batch.load(parent))
    },
  }
}

async function readChildren(prisma: PrismaClient, { name, page, filter }: Ask, parents: readonly string[]): Promise<readonly Row[][]> {
  const { table, parent, key } = RELATIONS[name]
  const columns = key.map((column) => `child."${column}"`)
  const direction = page.backward ? 'DESC' : 'ASC'
  const order = Prisma.raw(columns.map((column) => `${column} ${direction}`).join(', '))
  const conditions = [
    Prisma.sql`child.${Prisma.raw(`"${parent}"`)} = parent.id`,
    ...(page.after === null ? [] : [Prisma.sql`(${Prisma.raw(columns.join(', '))}) > (${Prisma.join([...page.after])})`]),
    ...(page.before === null ? [] : [Prisma.sql`(${Prisma.raw(columns.join(', '))}) < (${Prisma.join([...page.before])})`]),
    ...(filter === undefined ? [] : [filter]),
  ]
  const found = await prisma.$queryRaw<Row[]>`
    SELECT child.*
    FROM unnest(${[...new Set(parents)]}::text[]) AS parent (id)
    CROSS JOIN LATERAL (
      SELECT * FROM ${Prisma.raw(`"${table}"`)} AS child
      WHERE ${Prisma.join(conditions, ' AND ')}
      ORDER BY ${order}
      LIMIT ${page.limit + 1}
    ) AS child
    ORDER BY ${order}`
  const byParent = new Map<unknown, Row[]>(parents.map((id) => [id, []]))
  for (const row of found) byParent.get(row[parent])?.push(row)
  return parents.map((id) => byParent.get(id) ?? [])
}

/** The page of a relation whose keys have `parts` numbers. Throws BAD_USER_INPUT. */
export function toChildPage(args: PageArguments, parts: number): Page<Key> {
  return toPage(args, (cursor) => parseKey(cursor, parts))
}

/** The page of a relation that is ordered by ids. Throws BAD_USER_INPUT. */
export function toIdPage(args: PageArguments, prefix: IdPrefix): Page<Key> {
  return toPage(args, (cursor) => (isId(prefix, cursor) ? [cursor] : null))
}

function parseKey(cursor: string, parts: number): Key | null {
  if (!/^\d{1,9}(\.\d{1,9})*$/.test(cursor)) return null
  const key = cursor.split('.').map(Number)
  return key.length === parts ? key : null
}

/** A page for lists that are not paged: the first (or the last) `limit`. */
export function wholePage(limit: number, backward = false): Page<Key> {
  return { limit, backward, after: null, before: null }
}
