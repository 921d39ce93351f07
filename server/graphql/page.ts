/**
 * Pages by keyset, as Relay's connections have them: the arguments, checked, and the connection made of what was read. One row
 * more than asked for is read; it tells whether there is more.
 */
import { badUserInput } from './errors.js'
import { DEFAULT_PAGE, MAX_PAGE } from './limits.js'

export interface PageArguments {
  readonly first?: number | null | undefined
  readonly last?: number | null | undefined
  readonly after?: string | null | undefined
  readonly before?: string | null | undefined
}

export interface Page<Key> {
  readonly limit: number
  /** Read from the end of the list. */
  readonly backward: boolean
  readonly after: Key | null
  readonly before: Key | null
}

export interface Connection<Row> {
  readonly edges: { readonly cursor: string; readonly node: Row }[]
  readonly pageInfo: {
    readonly hasNextPage: boolean
    readonly hasPreviousPage: boolean
    readonly startCursor: string | null
    readonly endCursor: string | null
  }
}

/** Checks the arguments of a connection. `parseCursor` answers null for what is no cursor of this list. Throws BAD_USER_INPUT. */
export function toPage<Key>(args: PageArguments, parseCursor: (cursor: string) => Key | null): Page<Key> {
  const first = args.first ?? null
  const last = args.last ?? null
  if (first !== null && last !== null) throw badUserInput('Give first or last, not both.')
  checkSize('first', first)
  checkSize('last', last)
  const toKey = (name: string, cursor: string | null | undefined) => {
    if (cursor === null || cursor === undefined) return null
    const key = parseCursor(cursor)
    if (key === null)
      throw badUserInput(`${name}: ${JSON.stringify(cursor)} is not a cursor of this list; take one from its edges or pageInfo.`)
    return key
  }
  return {
    limit: first ?? last ?? DEFAULT_PAGE,
    backward: last !== null,
    after: toKey('after', args.after),
    before: toKey('before', args.before),
  }
}

function checkSize(name: string, size: number | null): void {
  if (size === null) return
  if (size < 0) throw badUserInput(`${name} is ${size}; it must not be negative.`)
  if (size > MAX_PAGE) throw badUserInput(`${name} is ${size}; at most ${MAX_PAGE} fit a page, go on with after or before.`)
}

/** `rows`: up to `limit + 1` of them, in the order they were read, so from the end for a page that is read backward. */
export function toConnection<Row>(rows: readonly Row[], page: Page<unknown>, cursorOf: (row: Row) => string): Connection<Row> {
  const more = rows.length > page.limit
  const kept = rows.slice(0, page.limit)
  if (page.backward) kept.reverse()
  const edges = kept.map((node) => ({ cursor: cursorOf(node), node }))
  return {
    edges,
    pageInfo: {
      hasNextPage: page.backward ? page.before !== null : more,
      hasPreviousPage: page.backward ? more : page.after !== null,
      startCursor: edges.at(0)?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  }
}
