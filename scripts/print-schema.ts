/** Writes schema.graphql, or, with --check, fails when it is not what the code says. */
import { readFileSync, writeFileSync } from 'node:fs'
import { printDocument } from '../server/graphql/print-schema.js'
import { buildSchema } from '../server/graphql/schema.js'

const file = new URL('../schema.graphql', import.meta.url)
const printed = printDocument(buildSchema())

if (!process.argv.includes('--check')) {
  writeFileSync(file, printed)
} else if (readFileSync(file, 'utf8') !== printed) {
  console.error('schema.graphql is not what server/graphql says; run `npm run schema` and commit it')
  process.exitCode = 1
}
