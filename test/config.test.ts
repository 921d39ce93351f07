import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadConfig, loadTerminalSettings, withoutCredentials } from '../server/config.js'
import { PerdureError } from '../server/errors.js'

let cwd: string
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'perdure-config-'))
})
afterEach(() => {
  rmSync(cwd, { recursive: true })
})

/** What a person would read. */
function refusal(env: Record<string, string>, flags = {}): string {
  try {
    loadConfig({ env, flags, cwd })
  } catch (error) {
    if (error instanceof PerdureError) return `${error.code}: ${error.message} → ${error.hint ?? ''}`
    throw error
  }
  return 'accepted'
}

describe('where a value comes from', () => {
  test('nothing set: the defaults, frozen', () => {
    const config = loadConfig({ env: {}, cwd })
    expect(config).toEqual({
      port: 4000,
      host: '127.0.0.1',
      dataDir: join(cwd, '.perdure'),
      databaseUrl: null,
      redisUrl: null,
      redisPrefix: 'perdure',
      role: 'all',
      openai: { apiKey: null, baseUrl: null, model: null },
      logLevel: 'warn',
      slots: 16,
      poolSize: 10,
      leaseTtlMs: 10_000,
      drainMs: 500,
      deployment: 'local',
      development: true,
    })
    expect(Object.isFrozen(config) && Object.isFrozen(config.openai)).toBe(true)
  })

  test('a flag wins over a variable, a variable over .env', () => {
    writeFileSync(join(cwd, '.env'), 'PERDURE_PORT=1\nPERDURE_HOST=0.0.0.0\nOPENAI_API_KEY="sk-file" # ours\n')
    const config = loadConfig({ env: { PERDURE_PORT: '2', PERDURE_HOST: '::1' }, flags: { port: '3' }, cwd })
    expect(config).toMatchObject({ port: 3, host: '::1', openai: { apiKey: 'sk-file' } })
  })

  test('a variable that is set to nothing counts as not set', () => {
    expect(loadConfig({ env: { PERDURE_PORT: '', DATABASE_URL: ' ' }, cwd })).toMatchObject({ port: 4000, databaseUrl: null })
  })

  test('a relative data folder is one of the working directory', () => {
    expect(loadConfig({ env: { PERDURE_DATA_DIR: 'data' }, cwd }).dataDir).toBe(join(cwd, 'data'))
  })
})

describe('development', () => {
  test.each(['127.0.0.1', '127.8.8.8', 'localhost', '::1'])('%s is this machine only', (host) => {
    expect(loadConfig({ env: {}, flags: { host }, cwd }).development).toBe(true)
  })

  test.each(['0.0.0.0', '::', '10.0.0.1', 'example.org'])('%s can be reached from elsewhere', (host) => {
    expect(loadConfig({ env: {}, flags: { host }, cwd }).development).toBe(false)
  })

  test('an application that signs its callers in is not in development', () => {
    expect(loadConfig({ env: {}, cwd, authenticated: true }).development).toBe(false)
  })
})

describe('a bad value is refused with its name, the value and the mend', () => {
  test.each([
    [{ PERDURE_PORT: 'http' }, 'CONFIG_INVALID: PERDURE_PORT is "http"; it must be a whole number from 0 to 65535. → PERDURE_PORT=4000'],
    [{ PERDURE_PORT: '65536' }, 'CONFIG_INVALID: PERDURE_PORT is "65536"; it must be a whole number from 0 to 65535. → PERDURE_PORT=4000'],
    [
      { PERDURE_POOL_SIZE: '1' },
      'CONFIG_INVALID: PERDURE_POOL_SIZE is "1"; it must be a whole number from 2 to 1000. → PERDURE_POOL_SIZE=10',
    ],
    [{ PERDURE_SLOTS: '0' }, 'CONFIG_INVALID: PERDURE_SLOTS is "0"; it must be a whole number from 1 to 1024. → PERDURE_SLOTS=16'],
    [
      { PERDURE_LEASE_TTL_MS: '10s' },
      'CONFIG_INVALID: PERDURE_LEASE_TTL_MS is "10s"; it must be a whole number from 1000 to 600000. → PERDURE_LEASE_TTL_MS=10000',
    ],
    [
      { PERDURE_LOG_LEVEL: 'loud' },
      'CONFIG_INVALID: PERDURE_LOG_LEVEL is "loud"; it must be one of trace, debug, info, warn, error, silent. → PERDURE_LOG_LEVEL=info',
    ],
    [
      { PERDURE_HOST: 'http://localhost' },
      'CONFIG_INVALID: PERDURE_HOST is "http://localhost"; it must be a host name or an address, without scheme or path. → PERDURE_HOST=127.0.0.1',
    ],
    [
      { OPENAI_BASE_URL: 'localhost:8080' },
      'CONFIG_INVALID: OPENAI_BASE_URL is "localhost:8080"; it must be a URL that begins with https:// or http://. → OPENAI_BASE_URL=https://api.openai.com/v1',
    ],
  ])('%j', (env, text) => {
    expect(refusal(env)).toBe(text)
  })

  test('a flag is named as it was written', () => {
    expect(refusal({}, { port: '4e3' })).toBe('CONFIG_INVALID: --port is "4e3"; it must be a whole number from 0 to 65535. → --port 4000')
  })

  test.each(['mysql://app:hunter2@db/perdure', 'postgres//app:hunter2@db', 'mysql://app:p@ss:hunter2@db'])(
    '%s: the password is not shown',
    (url) => {
      const text = refusal({ DATABASE_URL: url })
      expect(text).toContain('DATABASE_URL is "')
      expect(text).toContain('must be a URL that begins with postgres:// or postgresql://')
      expect(text).not.toContain('hunter2')
    },
  )
})

test('a URL is shown without its password', () => {
  expect(withoutCredentials('postgres://app:se:c@ret@db:5432/perdure')).toBe('postgres://app:***@db:5432/perdure')
  expect(withoutCredentials('postgres://app@db/perdure')).toBe('postgres://app@db/perdure')
  expect(withoutCredentials('postgres://db:5432/perdure')).toBe('postgres://db:5432/perdure')
})

test('the command to copy is the one that was typed', () => {
  expect(loadTerminalSettings({ npm_lifecycle_event: 'start' }).startCommand).toBe('npm start --')
  expect(loadTerminalSettings({}).startCommand).toBe('perdure start')
})
