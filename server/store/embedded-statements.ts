/**
 * Named prepared statements on PGlite, as the pool has them over the network: its own `query` parses and plans a text anew each time,
 * which costs more than running it. A statement is parsed once; then bind, execute and sync are one message.
 *
 * While it runs nothing else does, and no transaction of Prisma's is open: inside one it would be rolled back with it.
 */
import { parse, protocol, type PGlite } from '@electric-sql/pglite'
import type { Statement } from './database.js'
import type { SqlValue } from './json-column.js'

export class EmbeddedStatements {
  readonly #pglite: PGlite
  /** Parameter types of the statements that were parsed, by name. */
  readonly #types = new Map<string, readonly number[]>()

  constructor(pglite: PGlite) {
    this.#pglite = pglite
  }

  /** Throws what PostgreSQL answers, with its SQLSTATE in `code`; the statements that were parsed stay. */
  run<Row>(statement: Statement<Row>, values: readonly SqlValue[]): Promise<readonly Row[]> {
    const pglite = this.#pglite
    return pglite._runExclusiveTransaction(() => pglite.runExclusive(() => this.#execute(statement, values)))
  }

  async #execute<Row>(statement: Statement<Row>, values: readonly SqlValue[]): Promise<readonly Row[]> {
    const types = this.#types.get(statement.name) ?? (await this.#parse(statement))
    const { bind, describe, execute, sync } = protocol.serialize
    const texts = values.map((value, index) => this.#toText(value, types[index]))
    const message = joined([bind({ statement: statement.name, values: texts }), describe({ type: 'P' }), execute({}), sync()])
    const { messages } = await this.#pglite.execProtocol(message, { syncToFs: false })
    await this.#pglite.syncToFs()
    const [result] = parse.parseResults(messages, this.#pglite.parsers, {})
    const rows: readonly unknown[] = result?.rows ?? []
    return rows as readonly Row[]
  }

  async #parse({ name, text }: Statement<unknown>): Promise<readonly number[]> {
    const { parse: prepare, describe, sync } = protocol.serialize
    const message = joined([prepare({ name, text }), describe({ type: 'S', name }), sync()])
    const { messages } = await this.#pglite.execProtocol(message, { syncToFs: false })
    const types = parse.parseDescribeStatementResults(messages)
    this.#types.set(name, types)
    return types
  }

  #toText(value: SqlValue, type: number | undefined): string | null {
    if (value === null) return null
    const serialize = type === undefined ? undefined : this.#pglite.serializers[type]
    return serialize === undefined ? String(value) : serialize(value)
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
