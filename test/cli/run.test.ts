import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { findPortHolder } from '../../server/cli/port-holder.js'
import { PerdureError } from '../../server/errors.js'
import { fakeProcess, manualClock, portOf, runLine, tinyServer } from './fake-program.js'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

/** A port that somebody else listens on. */
async function takenPort(): Promise<number> {
  const other = createServer().listen(0, '127.0.0.1')
  closers.push(() => other.close())
  await once(other, 'listening')
  return portOf(other)
}

describe('exit codes', () => {
  test('help and version: 0, on stdout', async () => {
    const { program, printed } = fakeProcess()
    expect(await runLine('--version', program)).toBe(0)
    expect(await runLine('help start', program)).toBe(0)
    expect(printed.out).toContain('1.2.3\n')
    expect(printed.out).toContain('perdure start [path] [options]')
    expect(printed.err).toBe('')
  })

  test('a line that is not understood: 2, with the corrected one, on stderr', async () => {
    const { program, printed } = fakeProcess()
    expect(await runLine('start agents --prot 4001', program)).toBe(2)
    expect(printed).toEqual({ out: '', err: 'There is no option --prot.\n→ perdure start agents --port 4001\nUSAGE\n' })
  })

  test('under npm the corrected line is one of npm', async () => {
    const { program, printed } = fakeProcess({ env: { npm_lifecycle_event: 'start' } })
    expect(await runLine('start examples/agents --prot 4001', program)).toBe(2)
    expect(printed.err).toContain('→ npm start -- --port 4001\n')
  })

  test('a fault: 1, with what to do; the stack only with --verbose', async () => {
    const open = () => Promise.reject(new PerdureError('STORE_DOWN', 'The database sleeps.', { hint: 'wake it', cause: new Error('yawn') }))
    const { program, printed } = fakeProcess({ open, env: { PERDURE_PORT: '0' } })
    expect(await runLine('start', program)).toBe(1)
    expect(printed).toEqual({ out: '', err: 'The database sleeps.\n→ wake it\nSTORE_DOWN\n' })
    printed.err = ''
    expect(await runLine('start --verbose', program)).toBe(1)
    expect(printed.err).toContain('run.test.ts')
    expect(printed.err).toContain('caused by Error: yawn')
  })

  test('a bad setting: 1, before anything is opened', async () => {
    const { program, printed } = fakeProcess({ env: { PERDURE_PORT: 'http' } })
    expect(await runLine('start', program)).toBe(1)
    expect(printed.err).toContain('PERDURE_PORT is "http"')
    expect(printed.err).toContain('CONFIG_INVALID')
  })
})

describe('migrate', () => {
  test('says what it applied, and the second time that there was nothing to do', async () => {
    const reports = [['1_init', '2_more'], []]
    const migrate = () => Promise.resolve({ applied: reports.shift() ?? [], location: 'postgres://app:***@db/perdure' })
    const { program, printed } = fakeProcess({ migrate })
    expect(await runLine('migrate', program)).toBe(0)
    expect(await runLine('migrate', program)).toBe(0)
    expect(await runLine('migrate --json', program)).toBe(0)
    expect(printed.out).toBe(
      'postgres://app:***@db/perdure is up to date now; applied:\n  1_init\n  2_more\n' +
        'postgres://app:***@db/perdure is up to date.\n' +
        '{"location":"postgres://app:***@db/perdure","applied":[]}\n',
    )
  })
})

describe('start', () => {
  test('prints a banner that is true, serves, and ends with 0 at a signal', async () => {
    const server = tinyServer()
    const fake = fakeProcess({ open: () => Promise.resolve(server), env: { PERDURE_PORT: '0' } })
    const ended = runLine('start examples/agents', fake.program)
    await fake.printedOut('Ctrl-C')
    const { out } = fake.printed
    const url = /http:\/\/127\.0\.0\.1:\d+\/graphql/.exec(out)?.[0] ?? ''
    expect((await fetch(url)).status).toBe(200)
    expect(out.trimEnd().split('\n').length).toBeLessThanOrEqual(12)
    expect(out).toContain('perdure 1.2.3')
    expect(out).toContain('Access     open to everybody on this machine (development)')
    expect(out).toContain('Try it     curl ')
    expect(out).toContain('hello · clerk   examples/agents')
    expect(out).toContain('scripted, offline')
    expect(out).toContain('.perdure/data   3 sessions')
    expect(out).not.toContain('/nowhere')
    expect(out).toContain('Recovered  1 session')
    expect(out.match(/https?:\/\/[^/'\s]+/g)?.every((each) => each.startsWith('http://127.0.0.1:'))).toBe(true)
    fake.signal('SIGTERM')
    expect(await ended).toBe(0)
    expect(server.stops).toBe(1)
    expect([...fake.listeners.values()].every((set) => set.size === 0)).toBe(true)
    await expect(fetch(url)).rejects.toThrow()
  })

  test('beyond this machine: says that nobody can sign in and what to do, and offers nothing to try', async () => {
    const fake = fakeProcess({ open: () => Promise.resolve(tinyServer()), env: { PERDURE_PORT: '0' } })
    const ended = runLine('start --host 0.0.0.0', fake.program)
    await fake.printedOut('Ctrl-C')
    const { out } = fake.printed
    expect(out).toContain(
      'Access     nobody can sign in   → listen on 127.0.0.1, or use createPerdure({ authenticate }) in your own process\n',
    )
    expect(out).not.toContain('Try it')
    expect(out).not.toContain('GraphiQL')
    fake.signal('SIGINT')
    expect(await ended).toBe(0)
  })

  test('--json is one object', async () => {
    const fake = fakeProcess({ open: () => Promise.resolve(tinyServer()), env: { PERDURE_PORT: '0' } })
    const ended = runLine('start --json', fake.program)
    await fake.printedOut('\n')
    expect(JSON.parse(fake.printed.out)).toMatchObject({
      version: '1.2.3',
      agents: ['hello', 'clerk'],
      storage: { kind: 'embedded', recovered: 1 },
    })
    fake.signal('SIGINT')
    expect(await ended).toBe(0)
  })

  test('a taken port: 1, says who has it and what to type, and opens nothing', async () => {
    const port = await takenPort()
    const { program, printed } = fakeProcess({ cwd: '/', env: { PERDURE_PORT: String(port), npm_lifecycle_event: 'start' } })
    expect(await runLine('start', program)).toBe(1)
    expect(printed.out).toBe('')
    const who =
      process.platform === 'linux' ? `Port ${port} is taken by node (pid ${process.pid}, ${process.cwd()}).` : `Port ${port} is taken.`
    expect(printed.err).toBe(`${who}\n→ npm start -- --port ${port + 1}\nPORT_IN_USE\n`)
  })

  test.runIf(process.platform === 'linux')('a second one in the same folder is told of the first', async () => {
    const port = await takenPort()
    const { program, printed } = fakeProcess({ cwd: process.cwd(), env: { PERDURE_PORT: String(port) } })
    expect(await runLine('start', program)).toBe(1)
    expect(printed.err).toContain(`Perdure already runs for this folder (pid ${process.pid}), http://127.0.0.1:${port}/graphql`)
  })

  test('a port that is taken in between is explained the same way, and what was opened is closed', async () => {
    const port = await takenPort()
    const server = tinyServer({ port })
    const fake = fakeProcess({ cwd: '/', open: () => Promise.resolve(server), env: { PERDURE_PORT: '0' } })
    expect(await runLine('start', fake.program)).toBe(1)
    expect(fake.printed.err).toContain('PORT_IN_USE')
    expect(fake.printed.out).toBe('')
    expect(server.stops).toBe(1)
  })

  test('an address of another machine is named', async () => {
    const { program, printed } = fakeProcess()
    expect(await runLine('start --host 203.0.113.1', program)).toBe(1)
    expect(printed.err).toBe('The address 203.0.113.1 does not belong to this machine.\n→ perdure start --host 127.0.0.1\nHOST_UNKNOWN\n')
  })

  test('a server that does not work is not announced', async () => {
    const server = tinyServer({ status: 500 })
    const { program, printed } = fakeProcess({ open: () => Promise.resolve(server), env: { PERDURE_PORT: '0' } })
    expect(await runLine('start', program)).toBe(1)
    expect(printed.out).toBe('')
    expect(printed.err).toContain('answers with status 500')
    expect(server.stops).toBe(1)
  })
})

describe('signals', () => {
  const startWith = async (stop: () => Promise<void>, env: Readonly<Record<string, string>> = {}) => {
    const clock = manualClock()
    const fake = fakeProcess({ clock, open: () => Promise.resolve(tinyServer({ stop })), env: { PERDURE_PORT: '0', ...env } })
    const ended = runLine('start', fake.program)
    await fake.printedOut('Ctrl-C')
    return { clock, fake, ended }
  }

  test('the echo of a signal that npm passes on does not end the process hard; a later one does', async () => {
    let finish = (): void => undefined
    const { clock, fake, ended } = await startWith(() => new Promise((resolve) => (finish = resolve)))
    fake.signal('SIGINT')
    clock.advance(20)
    fake.signal('SIGINT')
    expect(fake.hardExits).toEqual([])
    clock.advance(600)
    fake.signal('SIGINT')
    expect(fake.hardExits).toEqual([130])
    await Promise.resolve()
    finish()
    expect(await ended).toBe(0)
  })

  test.each([
    { drainMs: '500', deadlineMs: 15_000 },
    { drainMs: '60000', deadlineMs: 65_000 },
  ])('a stop that hangs is cut off, not before running work had its time ($drainMs ms)', async ({ drainMs, deadlineMs }) => {
    let begin = (): void => undefined
    const begun = new Promise<void>((resolve) => (begin = resolve))
    let finish = (): void => undefined
    const stop = () => {
      begin()
      return new Promise<void>((resolve) => (finish = resolve))
    }
    const { clock, fake, ended } = await startWith(stop, { PERDURE_DRAIN_MS: drainMs })
    fake.signal('SIGTERM')
    await begun
    clock.advance(deadlineMs - 1)
    expect(fake.hardExits).toEqual([])
    clock.advance(1)
    expect(fake.hardExits).toEqual([1])
    finish()
    await ended
  })

  test('a stop that fails: 1, with the reason', async () => {
    const { fake, ended } = await startWith(() => Promise.reject(new Error('the disk is gone')))
    fake.signal('SIGTERM')
    expect(await ended).toBe(1)
    expect(fake.printed.err).toContain('the disk is gone')
  })
})

test.runIf(process.platform === 'linux')('the holder of a port is found in another process', async () => {
  const script = "require('net').createServer().listen(0,'127.0.0.1',function(){console.log(this.address().port)})"
  const child = spawn(process.execPath, ['-e', script], { cwd: '/', stdio: ['ignore', 'pipe', 'ignore'] })
  closers.push(() => child.kill('SIGKILL'))
  const [line] = await once(child.stdout, 'data')
  expect(findPortHolder(Number(String(line)))).toEqual({ pid: child.pid, name: 'node', cwd: '/' })
})
