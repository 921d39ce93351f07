/** `perdure doctor`, run as a person runs it, but in this process: real databases, a real Redis, no environment but what the test gives. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { createProgram } from '../../server/cli/create-program.js'
import type { Finding } from '../../server/cli/doctor/finding.js'
import { fakeProcess, runLine } from './fake-program.js'

export interface Visit {
  readonly code: number
  readonly checks: readonly Finding[]
  /** The first line about something; undefined when nothing is said of it. */
  find(name: string): Finding | undefined
  /** Names of what is not fine. */
  readonly complaints: readonly string[]
}

const { inspect } = createProgram('{"version":"0.0.0"}')

export const AGENTS =
  "import { defineAgent, scripted } from 'perdure'\nexport default defineAgent({ name: 'clerk', model: scripted(), instructions: 'x' })\n"

/** A file of agents for the time of `work`. */
export async function withAgents<Value>(text: string, work: (path: string) => Promise<Value>): Promise<Value> {
  return inEmptyFolder(async (folder) => {
    const path = join(folder, 'agents.mjs')
    await writeFile(path, text)
    return work(path)
  })
}

export async function execute(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

/** `line`: what follows `perdure doctor`. */
export async function visit(env: Readonly<Record<string, string>>, line = ''): Promise<Visit> {
  return inEmptyFolder(async (cwd) => {
    const { program, printed } = fakeProcess({ env, cwd, inspect })
    const code = await runLine(`doctor --json ${line}`.trim(), program)
    const { checks } = JSON.parse(printed.out) as { readonly checks: readonly Finding[] }
    return {
      code,
      checks,
      find: (name) => checks.find((check) => check.name === name),
      complaints: checks.filter(({ status }) => status === 'warning' || status === 'broken').map(({ name }) => name),
    }
  })
}

export async function visitText(env: Readonly<Record<string, string>>, line = ''): Promise<string> {
  return inEmptyFolder(async (cwd) => {
    const { program, printed } = fakeProcess({ env, cwd, inspect })
    await runLine(`doctor ${line}`.trim(), program)
    return printed.out
  })
}

/** Where no `.env` is read and no agents are found by chance. */
async function inEmptyFolder<Value>(work: (cwd: string) => Promise<Value>): Promise<Value> {
  const cwd = await mkdtemp(join(tmpdir(), 'perdure-doctor-'))
  try {
    return await work(cwd)
  } finally {
    await rm(cwd, { recursive: true, force: true })
  }
}
