/**
 * Makes a fresh clone ready: dependencies, Prisma client, build; each only when missing or stale. Needs nothing but Node,
 * since it runs before anything is installed.
 *
 * What is stale is judged by content, never by file times, which git and copies do not keep.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fingerprint } from './fingerprint.mjs'
import { explainInstallFailure } from './install-failure.mjs'

export const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** A step of the set-up failed; the message is for a person, as it stands. */
export class SetupError extends Error {}

/**
 * Brings the working copy up to date. Repeating it costs some 50 ms.
 * @param {{ build?: boolean, snapshot?: boolean, log?: (line: string) => void }} options `build` also makes dist/; `snapshot` also an
 * empty embedded database, which spares seconds whenever one is opened for the first time, as tests do.
 */
export function setUp({ build = false, snapshot = false, log = (line) => console.error(line) } = {}) {
  if (!isInstalled(ROOT)) step('Installing dependencies (npm ci)', install, log)
  stamped('server/generated/.inputs', ['prisma/schema.prisma', 'package-lock.json'], () =>
    step('Generating the Prisma client', generate, log),
  )
  if (build) {
    const sources = ['server', 'tsdown.config.ts', 'tsconfig.json', 'package-lock.json']
    stamped('dist/.inputs', sources, () => step('Building the server', buildServer, log))
  }
  if (snapshot) {
    const makers = ['server/store/snapshot.ts', 'scripts/build-snapshot.ts', 'package-lock.json']
    stamped('node_modules/.cache/perdure/.inputs', makers, () => step('Making an empty database', buildSnapshot, log))
  }
}

/** Runs `main` after the set-up; a failed set-up ends the process with its sentence. */
export async function withSetup(options, main) {
  try {
    setUp(options)
  } catch (error) {
    if (!(error instanceof SetupError)) throw error
    console.error(error.message)
    process.exit(1)
  }
  await main()
}

/** True when node_modules holds what package-lock.json asks for, as npm itself recorded at the end of its last install. */
export function isInstalled(root) {
  const recorded = join(root, 'node_modules/.package-lock.json')
  if (!existsSync(recorded)) return false
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
  const present = JSON.parse(readFileSync(recorded, 'utf8')).packages
  return Object.entries(wanted).every(([path, entry]) => {
    if (!path.startsWith('node_modules/')) return true
    if (!(path in present)) return Boolean(entry.optional || entry.devOptional) // left out on this platform
    return present[path].version === entry.version && present[path].integrity === entry.integrity
  })
}

/** No package needs its install script here; leaving them out is quicker and keeps a download of database engines away. */
function install() {
  const failure = run(npm(), ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    // npm waits 10 s and then 60 s before it tries a dead registry again; nobody looks at a still screen for that long.
    npm_config_fetch_retry_mintimeout: '1000',
    npm_config_fetch_retry_maxtimeout: '5000',
  })
  if (failure !== null) throw new SetupError(explainInstallFailure(failure, registry()))
}

function generate() {
  const failure = run([process.execPath], [join(ROOT, 'scripts/prisma.mjs'), 'generate'])
  if (failure !== null) throw new SetupError(`The Prisma client could not be generated from prisma/schema.prisma:\n${failure}`)
}

function buildServer() {
  const failure = run([process.execPath], [join(ROOT, 'node_modules/tsdown/dist/run.mjs'), '--logLevel', 'warn'])
  if (failure !== null) throw new SetupError(`The server could not be built:\n${failure}`)
}

function buildSnapshot() {
  const failure = run([process.execPath], ['--import', 'tsx', join(ROOT, 'scripts/build-snapshot.ts')])
  if (failure !== null) throw new SetupError(`The empty database could not be made:\n${failure}`)
}

/** Does `work` unless `stampFile` says that it was done for these inputs. The stamp is written last, so a broken run is repeated. */
function stamped(stampFile, inputs, work) {
  const path = join(ROOT, stampFile)
  const current = fingerprint(ROOT, inputs)
  if (existsSync(path) && readFileSync(path, 'utf8') === current) return
  work()
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, current)
}

function step(title, work, log) {
  const started = performance.now()
  log(`${title} …`)
  work()
  log(`${title} … ${((performance.now() - started) / 1000).toFixed(1)} s`)
}

/** Null when it succeeded, else what the command said. */
function run([command, ...prefix], args, env = {}) {
  const result = spawnSync(command, [...prefix, ...args], {
    cwd: ROOT,
    env: { ...env, ...process.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    shell: command === 'npm' && process.platform === 'win32',
  })
  if (result.signal !== null) process.exit(130) // the person who stopped it needs no explanation
  if (result.status === 0) return null
  return result.error?.message ?? `${result.stderr}${result.stdout}`.trim()
}

/** The npm that runs us, else the one on the path. */
function npm() {
  const path = process.env.npm_execpath
  return path !== undefined && basename(path).startsWith('npm') ? [process.execPath, path] : ['npm']
}

function registry() {
  const [command, ...prefix] = npm()
  const result = spawnSync(command, [...prefix, 'config', 'get', 'registry'], {
    cwd: ROOT,
    encoding: 'utf8',
    shell: command === 'npm' && process.platform === 'win32',
  })
  return result.stdout?.trim() || 'the npm registry'
}
