/**
 * Everything that has to hold before a change goes in: `npm test` as a newcomer runs it, then what a newcomer does not need to run.
 * Ends with the counts, alone on a line; the exit code agrees with them.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from './run-command.mjs'
import { ROOT } from './setup.mjs'
import { countTests } from './test-report.mjs'

const REPORT = join(ROOT, '.tmp/test-report.json')
const GENERATED = ['schema.graphql', 'sdk/generated', 'docs/guarantees.md']
const TESTS_TIMEOUT_MS = 20 * 60_000
const CHECK_TIMEOUT_MS = 2 * 60_000
const DATABASE_URL = process.env.TEST_DATABASE_URL ?? 'postgresql://postgres@127.0.0.1:5432/postgres'

const run = (command, env = {}) => runCommand(command, { cwd: ROOT, timeoutMs: CHECK_TIMEOUT_MS, env })

const CHECKS = {
  'schema.graphql, the SDK and the tables of the docs are what the code makes': generatedIsCurrent,
  'migrations lead to schema.prisma': migrationsAreCurrent,
  lint: () => run(['npx', 'eslint', '.']),
  types: () => run(['npx', 'tsc', '-p', '.']),
  format: () => run(['npx', 'prettier', '--check', '.', '--log-level', 'warn']),
  'nothing is unused': () => run(['npx', 'knip', '--no-progress']),
  ...Object.fromEntries(numberedExamples().map((path) => [path, () => run(['npm', 'run', '--silent', 'example', path])])),
}

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))
const counts = await runTests()
for (const [name, check] of Object.entries(CHECKS)) {
  const holds = await report(name, check)
  if (holds) counts.passed += 1
  else counts.failed += 1
}
console.log(`\n${counts.passed} passed, ${counts.failed} failed`)
process.exit(counts.failed === 0 ? 0 : 1)

/** Where the services have to be there (CI), a skipped test is a test that did not hold. */
async function runTests() {
  rmSync(REPORT, { force: true })
  const { ok, output } = await runCommand(['npm', 'test'], { cwd: ROOT, timeoutMs: TESTS_TIMEOUT_MS, show: true, env: { CI: 'true' } })
  if (output !== '') console.log(output.trim())
  const { passed, failed, skipped } = countTests(REPORT, ok)
  for (const name of skipped) console.log(`✗ skipped: ${name}`)
  return { passed, failed: failed + skipped.length }
}

/** A line when it holds, its output too when it does not. */
async function report(name, check) {
  const started = performance.now()
  const { ok, output } = await check()
  console.log(`${ok ? '✓' : '✗'} ${name} ${((performance.now() - started) / 1000).toFixed(1)} s`)
  if (!ok) console.log(output.trimEnd())
  return ok
}

/** Makes them again; what git then sees as changed or new was stale. */
async function generatedIsCurrent() {
  for (const script of ['schema', 'codegen', 'tables']) {
    const made = await run(['npm', 'run', '--silent', script])
    if (!made.ok) return made
  }
  const status = await run(['git', 'status', '--porcelain', '--', ...GENERATED])
  if (!status.ok || status.output === '') return status
  return { ok: false, output: `${status.output}Commit what \`npm run schema\`, \`npm run codegen\` and \`npm run tables\` make.` }
}

async function migrationsAreCurrent() {
  const diff = ['migrate', 'diff', '--from-migrations', 'prisma/migrations', '--to-schema', 'prisma/schema.prisma', '--exit-code']
  const result = await run([process.execPath, 'scripts/prisma.mjs', ...diff], { DATABASE_URL })
  return { ...result, output: `${result.output}\nA change of schema.prisma needs a migration: npm run prisma -- migrate dev` }
}

function numberedExamples() {
  const folder = join(ROOT, 'examples')
  if (!existsSync(folder)) return []
  const names = readdirSync(folder).filter((name) => /^\d+-.*\.ts$/.test(name))
  return names.sort().map((name) => `examples/${name}`)
}
