#!/usr/bin/env node
/** The entry of the process. Everything else is loaded once the version of Node is known to be new enough for it. */
import { readFileSync } from 'node:fs'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Perdure needs Node 20.19 or newer; this is ${process.version}. See https://nodejs.org`)
  process.exit(1)
}

const { createProgram } = await import('./cli/create-program.js')
const { run } = await import('./cli/run.js')
const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
process.exit(await run(process.argv.slice(2), createProgram(manifest)))
