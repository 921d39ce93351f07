/** Prisma's node-postgres adapter, mended for the schema engine where its version 7.10 is not ready for it. */
import { randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import { PrismaPg } from '@prisma/adapter-pg'

const INTERNAL_CHAR_OID = 18
const TEXT_OID = 25

// The adapter's own copy of pg, and pg's own copy of its URL parser.
const requireFromHere = createRequire(import.meta.url)
const requireFromAdapter = createRequire(requireFromHere.resolve('@prisma/adapter-pg'))
const pg = requireFromAdapter('pg')
const { parse } = createRequire(requireFromAdapter.resolve('pg'))('pg-connection-string')

/** @param {string} url of the database to work on */
export function createAdapterFactory(url) {
  presentInternalCharAsText()
  // Not as a connection string: the adapter opens its shadow database with `{ ...config, database }`, in which the string's
  // database would win, and the shadow, which is wiped, would be the real one.
  const { schema: _schema, ...config } = parse(url)
  return new SchemaEngineAdapter(config)
}

class SchemaEngineAdapter extends PrismaPg {
  #config

  constructor(config) {
    super(config)
    this.#config = config
  }

  /** The adapter's own drops the database before it has closed its connections. */
  async connectToShadowDb() {
    const admin = new pg.Pool({ ...this.#config, max: 1 })
    const database = `prisma_migrate_shadow_db_${randomUUID()}`
    await admin.query(`CREATE DATABASE "${database}"`)
    const shadow = await new PrismaPg({ ...this.#config, database }).connect()
    const dispose = shadow.dispose.bind(shadow)
    shadow.dispose = async () => {
      await dispose()
      await admin.query(`DROP DATABASE IF EXISTS "${database}" WITH (FORCE)`)
      await admin.end()
    }
    return shadow
  }
}

/** Introspection selects columns of the type "char", which the adapter does not know. */
function presentInternalCharAsText() {
  const original = pg.Query.prototype.handleRowDescription
  pg.Query.prototype.handleRowDescription = function (message) {
    for (const field of message.fields) {
      if (field.dataTypeID === INTERNAL_CHAR_OID) field.dataTypeID = TEXT_OID
    }
    return original.call(this, message)
  }
}
