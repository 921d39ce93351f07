/** What the files of examples/deploy have to say for the promises to hold, and what must agree between them. */
import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../server/config.js'
import { DEPLOY, readComposeFile, type Service } from './compose-file.js'
import { findProgram } from './doors.js'
import { readUnit } from './unit-file.js'

const REQUIRED = { PERDURE_DEPLOYMENT: '7', POSTGRES_PASSWORD: 'secret', API_TOKENS: 'ada:token' }
const ROLES = ['api', 'worker'] as const
/** What a stop takes beside draining. */
const REST_MS = 5000

let services: ReadonlyMap<string, Service>
let perdure: readonly Service[]

beforeAll(async () => {
  services = await readComposeFile(REQUIRED)
  perdure = [...services.values()].filter(({ environment }) => 'PERDURE_ROLE' in environment)
})

function get(name: string): Service {
  const service = services.get(name)
  if (service === undefined) throw new Error(`compose.yaml has no ${name}`)
  return service
}

describe('compose.yaml', () => {
  test.each(Object.keys(REQUIRED))('asks for %s', async (name) => {
    await expect(readComposeFile({ ...REQUIRED, [name]: '' })).rejects.toThrow(`compose.yaml requires ${name}`)
  })

  test('gives every process a configuration that Perdure takes, the same for all but the role', () => {
    for (const { environment } of perdure) {
      const { databaseUrl, redisUrl, role, deployment, ...rest } = loadConfig({ env: environment, cwd: DEPLOY, authenticated: true })
      expect({ role, deployment }).toEqual({ role: environment['PERDURE_ROLE'], deployment: '7' })
      expect(new URL(databaseUrl ?? '')).toMatchObject({
        hostname: 'postgres',
        username: 'perdure',
        password: 'secret',
        pathname: '/perdure',
      })
      expect(new URL(redisUrl ?? '').hostname).toBe('redis')
      expect(rest).toMatchObject({ host: '0.0.0.0', port: 4000, development: false, slots: 16, leaseTtlMs: 10_000, drainMs: 10_000 })
    }
  })

  test('runs the image of the release, restarts it, passes signals on, and kills nothing that still drains', () => {
    for (const { image, init, restart, environment, stop_grace_period: grace } of perdure) {
      expect({ image, init, restart }).toEqual({ image: 'perdure-example:7', init: true, restart: 'unless-stopped' })
      const { drainMs } = loadConfig({ env: environment, cwd: DEPLOY })
      expect(Number.parseInt(grace) * 1000).toBeGreaterThanOrEqual(drainMs + REST_MS)
    }
  })

  test('has a database that waits for the disk, for the user whose password the processes have, with connections for all', () => {
    const { command, environment } = get('postgres')
    expect(command).toEqual(expect.arrayContaining(['fsync=on', 'synchronous_commit=on', 'full_page_writes=on']))
    expect(environment).toEqual({ POSTGRES_USER: 'perdure', POSTGRES_PASSWORD: 'secret', POSTGRES_DB: 'perdure' })
    const connections = /max_connections=(\d+)/.exec(command.join(' '))?.[1]
    expect(Number(connections)).toBeGreaterThan(10 * perdure.length)
  })

  test('has a Redis that keeps nothing on disk and throws nothing away', () => {
    const { command } = get('redis')
    expect(command.join(' ')).toMatch(/--save {2}--appendonly no .*--maxmemory-policy noeviction/)
  })

  test('opens no port to the outside but those of the proxy', () => {
    expect([...services].flatMap(([name, { ports }]) => (ports.length > 0 ? [name] : []))).toEqual(['proxy'])
  })
})

describe('the systemd units', () => {
  test('give a process the same configuration as compose.yaml, but for addresses', async () => {
    for (const role of ROLES) {
      const { environment } = await readUnit(role, 4321, REQUIRED)
      const { host, port, databaseUrl, redisUrl, ...rest } = loadConfig({ env: environment, cwd: DEPLOY, authenticated: true })
      expect({ host, port, redisUrl }).toEqual({ host: '127.0.0.1', port: 4321, redisUrl: 'redis://127.0.0.1:6379' })
      expect(databaseUrl).toContain('@127.0.0.1:5432/perdure')
      const composed = perdure.find((each) => each.environment['PERDURE_ROLE'] === role)
      const {
        host: _host,
        port: _port,
        databaseUrl: _database,
        redisUrl: _redis,
        ...same
      } = loadConfig({
        env: composed?.environment ?? {},
        cwd: DEPLOY,
        authenticated: true,
      })
      // Set and empty, or not set: both mean the default.
      expect({ ...rest, openai: null }).toEqual({ ...same, openai: null })
    }
  })

  test('kill nothing that still drains', async () => {
    for (const role of ROLES) {
      const { environment, stopTimeoutMs } = await readUnit(role, 4321, {})
      expect(stopTimeoutMs).toBeGreaterThanOrEqual(loadConfig({ env: environment, cwd: DEPLOY }).drainMs + REST_MS)
    }
  })

  test('differ in the role, and in that a worker does not get the tokens', async () => {
    const [api, worker] = await Promise.all(ROLES.map((role) => readUnit(role, 4321, REQUIRED)))
    const { API_TOKENS, ...rest } = api?.environment ?? {}
    expect(API_TOKENS).toBe('ada:token')
    expect(worker).toEqual({ ...api, environment: { ...rest, PERDURE_ROLE: 'worker' } })
  })

  // Left out where there is no systemd, rather than skipped.
  if (findProgram('systemd-analyze') !== null) test('are units that systemd takes', verifyUnits)
})

/** What it says of programs that are not installed here is about this machine. */
async function verifyUnits(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-units-'))
  try {
    const units = ROLES.map((role) => join(folder, `perdure-${role}@4321.service`))
    await Promise.all(ROLES.map((role, index) => copyFile(`${DEPLOY}systemd/perdure-${role}@.service`, units[index] ?? '')))
    const { stdout } = await promisify(execFile)('sh', ['-c', 'systemd-analyze verify "$@" 2>&1 || true', 'sh', ...units])
    const faults = stdout.split('\n').filter((line) => line.includes('perdure-') && !line.includes('is not executable'))
    expect(faults).toEqual([])
  } finally {
    await rm(folder, { recursive: true })
  }
}

test('README.md, .env.example and the environment file speak of every variable that compose.yaml takes', async () => {
  const [compose, readme, example, file] = await Promise.all(
    ['compose.yaml', 'README.md', '.env.example', 'systemd/perdure.env'].map((path) => readFile(`${DEPLOY}${path}`, 'utf8')),
  )
  const taken = [...(compose ?? '').matchAll(/\$\{(\w+)/g)].map(([, name = '']) => name)
  const required = [...(compose ?? '').matchAll(/\$\{(\w+):\?/g)].map(([, name = '']) => name)
  for (const name of taken) expect(readme).toContain(name)
  for (const name of required) expect(example).toContain(`${name}=`)
  for (const [, name = ''] of (file ?? '').matchAll(/^(\w+)=/gm)) expect(readme).toContain(name)
})
