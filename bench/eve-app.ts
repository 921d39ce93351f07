/**
 * The peer eve: its agent (bench/peers/eve) is copied to .tmp, installed and built there once, and run as a process of its own. Its packages are
 * no dependencies of ours; nothing of them is installed before somebody asks for the peers.
 */
import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { setTimeout as wait } from 'node:timers/promises'
import { closeServer, listen } from './listen.js'

const SOURCE = fileURLToPath(new URL('peers/eve/', import.meta.url))
const FOLDER = fileURLToPath(new URL('../.tmp/peers/eve/', import.meta.url))
/** As the lock file has it. */
export const EVE_VERSION = '0.80.1'
const NODE_MAJOR = 24
const START_MS = 60_000
const run = promisify(execFile)

export interface EveApp {
  /** Starts its server on the port and data folder that are this app's; resolves once it answers. */
  start(modelUrl: string): Promise<EveProcess>
  readonly url: string
  /** Removes the data. */
  close(): Promise<void>
}
export interface EveProcess {
  /** Ends it with SIGKILL and waits for that. Repeating it does nothing. */
  kill(): Promise<void>
}

/** Installs and builds it unless that was done for these sources. */
export async function prepareEve(say: (line: string) => void, signal: AbortSignal): Promise<void> {
  const stamp = await fingerprint()
  const stampFile = join(FOLDER, '.inputs')
  if ((await readFile(stampFile, 'utf8').catch(() => '')) === stamp) return
  await build(say, signal)
  await writeFile(stampFile, stamp)
}

/** Prepares it first. Throws a sentence for a person when it cannot run here. */
export async function openEve(say: (line: string) => void, signal: AbortSignal): Promise<EveApp> {
  await prepareEve(say, signal)
  const node = await findNode()
  const dataDir = await mkdtemp(join(tmpdir(), 'perdure-bench-eve-'))
  const port = await findPort()
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    start: (modelUrl) => start({ node, dataDir, port, url, modelUrl }),
    close: () => rm(dataDir, { recursive: true, force: true }),
  }
}

async function fingerprint(): Promise<string> {
  const hash = createHash('sha256')
  const names = await readdir(SOURCE, { recursive: true, withFileTypes: true })
  const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  for (const file of files.sort()) hash.update(file).update(await readFile(file))
  return hash.digest('hex')
}

async function build(say: (line: string) => void, signal: AbortSignal): Promise<void> {
  const options = { cwd: FOLDER, signal, maxBuffer: 2 ** 26, env: { ...process.env, ...QUIET } }
  say(`installing eve ${EVE_VERSION} (npm ci) and building its agent`)
  await rm(FOLDER, { recursive: true, force: true })
  await cp(SOURCE, FOLDER, { recursive: true })
  const [npm, ...prefix] = findNpm()
  await run(npm, [...prefix, 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], options)
  await run(await findNode(), [join(FOLDER, 'node_modules/eve/bin/eve.js'), 'build'], options)
}

const QUIET = { EVE_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' } as const

/** The npm that runs us, else the one on the path. */
function findNpm(): readonly [string, ...string[]] {
  const path = process.env['npm_execpath']
  return path !== undefined && basename(path).startsWith('npm') ? [process.execPath, path] : ['npm']
}

/** Ours when it is new enough, else the one that comes in a package. */
async function findNode(): Promise<string> {
  if (Number(process.versions.node.split('.')[0]) >= NODE_MAJOR) return process.execPath
  const packaged = join(FOLDER, `node_modules/node-${process.platform}-${process.arch}/bin/node`)
  const works = await run(packaged, ['--version']).then(
    () => true,
    () => false,
  )
  if (works) return packaged
  throw new Error(
    `eve needs Node ${NODE_MAJOR} or newer, and there is no package with it for this machine: run the bench with Node ${NODE_MAJOR}`,
  )
}

/** One that was free a moment ago: a server that is started again has to have the same. */
async function findPort(): Promise<number> {
  const server = createServer()
  const { port } = await listen(server)
  await closeServer(server)
  return Number(port)
}

interface StartOptions {
  readonly node: string
  readonly dataDir: string
  readonly port: number
  readonly url: string
  readonly modelUrl: string
}

async function start({ node, dataDir, port, url, modelUrl }: StartOptions): Promise<EveProcess> {
  const address = { HOST: '127.0.0.1', PORT: String(port) }
  const child = spawn(node, [join(FOLDER, '.output/server/index.mjs')], {
    cwd: dataDir,
    env: {
      ...{ PATH: process.env['PATH'], ...QUIET, ...address, NITRO_HOST: address.HOST, NITRO_PORT: address.PORT },
      PERDURE_BENCH_MODEL: modelUrl,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  const ended = once(child, 'exit')
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await ended
  }
  const deadline = AbortSignal.timeout(START_MS)
  while (!(await answers(url))) {
    if (child.exitCode === null && !deadline.aborted) {
      await wait(20)
      continue
    }
    await kill()
    throw new Error(`eve did not start: ${errors}`)
  }
  return { kill }
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/eve/v1/health`)
    await response.text()
    return response.ok
  } catch {
    return false
  }
}
