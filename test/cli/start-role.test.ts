/** One of many processes, started from the command line. */
import { expect, test } from 'vitest'
import type { Program } from '../../server/cli/program.js'
import { fakeProcess, runLine, tinyServer } from './fake-program.js'

test('a worker is asked whether it lives, since it answers no GraphQL', async () => {
  const server = tinyServer({ role: 'worker', answers: ['/livez'], redis: 'redis://cache:6379' })
  const env = { PERDURE_PORT: '0', DATABASE_URL: 'postgresql://db/app', REDIS_URL: 'redis://cache:6379' }
  let role: string | null = null
  const open: Program['open'] = ({ config }) => {
    role = config.role
    return Promise.resolve(server)
  }
  const fake = fakeProcess({ open, env })
  const ended = runLine('start --role worker', fake.program)
  await fake.printedOut('Ctrl-C')
  expect(role).toBe('worker')
  expect(fake.printed.out).toContain('Role       worker')
  fake.signal('SIGTERM')
  expect(await ended).toBe(0)
})

test('a role that needs what is not set: 1, with what to set', async () => {
  const { program, printed } = fakeProcess()
  expect(await runLine('start --role worker', program)).toBe(1)
  expect(printed.err).toContain('needs DATABASE_URL and REDIS_URL')
})
