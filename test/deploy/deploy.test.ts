/** The deployment of examples/deploy, run as its files say. What one of them says wrongly fails here, not on somebody's machine. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Client, Session, TurnResult } from '../../sdk/index.js'
import { systemClock } from '../../server/clock.js'
import { storedId } from '../../server/ids.js'
import type { RecordedEvent } from '../../server/session/events.js'
import { openStore, type OpenStore } from '../../server/store/open.js'
import { MIGRATIONS } from '../support/databases.js'
import { expectSound } from '../support/expect-sound.js'
import { Witness } from '../support/witness.js'
import { DOORS, type Door } from './doors.js'
import { Fleet, TOKEN } from './fleet.js'
import { TALK } from './talking-model.js'

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 })
/** In the order in which a release replaces them. */
const PROCESSES = ['api-1', 'api-2', 'worker-1', 'worker-2', 'worker-3']

let fleet: Fleet
let store: OpenStore
const abort = new AbortController()
/** What was opened, the newest last. */
const opened: { close(): Promise<void> }[] = []

beforeAll(async () => {
  opened.push((fleet = await Fleet.open()))
  // All at once, on an empty database.
  await Promise.all(PROCESSES.map((name) => fleet.start(name)))
  const options = { databaseUrl: fleet.databaseUrl, dataDir: '', migrationsDir: MIGRATIONS, clock: systemClock, poolSize: 2 }
  opened.push((store = await openStore(options)))
})
afterAll(async () => {
  abort.abort(new Error('the test is over'))
  for (const each of opened.toReversed()) await each.close()
})

interface Talk {
  readonly text: string
  readonly session: Session
  readonly witness: Witness
  readonly result: Promise<TurnResult>
}

/** A turn that lasts until its text is finished; told to one client, followed through another. */
async function talk(about: string, sender: Client, listener = sender): Promise<Talk> {
  const text = `${TALK} about ${about}`
  const turn = sender.agent('support').send(text)
  const { session } = await turn.accepted
  const witness = new Witness(listener.session(session.id), abort.signal)
  const result = turn.result({ signal: abort.signal })
  result.catch(() => undefined)
  await witness.until('LLM_CHUNK')
  return { text, session, witness, result }
}

/** Ends the turn and the session; whoever followed saw each event of the log once and in order. Gives the log. */
async function finish({ text, session, witness, result }: Talk): Promise<readonly RecordedEvent[]> {
  fleet.model.finish(text)
  expect(await result).toMatchObject({ status: 'completed', number: 1, text: expect.stringMatching(new RegExp(`you said: ${text}$`)) })
  await session.end()
  await witness.ended
  const log = await expectSound(store.store, storedId('ses', session.id))
  expect(witness.told).toEqual(log.map((event) => `${event.position} ${event.type}`))
  expect(log.filter((event) => event.type === 'MESSAGE_COMPLETED')).toHaveLength(1)
  return log
}

/** A conversation at an address: as many turns as messages, in order. */
class Chat {
  readonly #client: Client
  readonly #address: string
  readonly #said: { readonly role: string; readonly text: string }[] = []

  constructor(client: Client, address: string) {
    this.#client = client
    this.#address = address
  }

  /** Sends a message and waits for its answer. */
  async say(text: string): Promise<void> {
    const answer = `you said: ${text}`
    this.#said.push({ role: 'USER', text }, { role: 'ASSISTANT', text: answer })
    const result = await this.#client.agent('hello').send(text, { address: this.#address }).result()
    expect(result).toMatchObject({ status: 'completed', number: this.#said.length / 2, text: answer })
  }

  async expectWhole(): Promise<void> {
    const info = await this.#client.sessions.getByAddress(this.#address)
    const transcript = await this.#client.session(info?.id ?? '').transcript()
    expect(transcript?.map(({ role, text }) => ({ role, text }))).toEqual(this.#said)
  }
}

/** Who holds the lease of each. */
async function readOwners(talks: readonly Talk[]): Promise<readonly (string | null)[]> {
  const heads = talks.map(({ session }) => store.prisma.sessionHead.findUniqueOrThrow({ where: { sessionId: session.id } }))
  return (await Promise.all(heads)).map(({ owner }) => owner)
}

/** Ends one, if it still runs: with 0, before whoever runs it would kill it, and without a lease that others had to wait for. */
async function stop(name: string, talks: readonly Talk[]): Promise<void> {
  const running = fleet.processes.get(name)
  if (running === undefined) return
  const driven = talks.filter(({ text }) => fleet.model.askedAbout(text).at(-1) === name)
  const owners = await readOwners(driven)
  const stoppedAt = performance.now()
  expect(await running.kill('SIGTERM')).toBe(0)
  expect(performance.now() - stoppedAt).toBeLessThan(running.graceMs)
  const later = await readOwners(driven)
  expect(later.filter((owner, index) => owner !== null && owner === owners[index])).toEqual([])
}

describe('the processes of compose.yaml', () => {
  test('are two api processes and three workers, and may start all at once: each migration is applied once', async () => {
    expect([...fleet.ports.keys()]).toEqual(PROCESSES)
    const rows = await store.prisma.$queryRaw<{ times: bigint }[]>`
      SELECT count(*) AS times FROM _prisma_migrations GROUP BY migration_name`
    expect(rows.length).toBeGreaterThan(0)
    expect(rows.filter(({ times }) => times !== 1n)).toEqual([])
  })

  test('print lines of JSON, and no secret', () => {
    for (const { lines, environment } of fleet.processes.values()) {
      expect(lines).toContainEqual(expect.objectContaining({ level: 'info', msg: 'ready' }))
      for (const line of lines) expect(line).toMatchObject({ level: expect.any(String), time: expect.any(String), msg: expect.any(String) })
      for (const name of ['API_TOKENS', 'DATABASE_URL']) expect(JSON.stringify(lines)).not.toContain(environment[name] ?? 'nothing')
    }
  })

  test('are alive and ready; a worker answers nothing else, and has no tokens', async () => {
    for (const { role, port, environment } of fleet.processes.values()) {
      const status = async (path: string): Promise<number> => (await fetch(`http://127.0.0.1:${port}${path}`)).status
      await vi.waitFor(async () => expect(await status('/readyz')).toBe(200), { timeout: 30_000 })
      expect([await status(fleet.image.healthPath), await status('/metrics')]).toEqual([200, 200])
      expect(await status('/graphql?query={__typename}')).toBe(role === 'api' ? 401 : 404)
      expect('API_TOKENS' in environment).toBe(role === 'api')
    }
  })

  test('stream through one api process what was sent through the other, while a worker drives', async () => {
    const it = await talk('the way through', fleet.clientOf('api-1'), fleet.clientOf('api-2'))
    const [driver = ''] = fleet.model.askedAbout(it.text)
    expect(fleet.get(driver).role).toBe('worker')
    await finish(it)
  })

  test('go on when the worker that drives is killed with SIGKILL: another one makes the answer again, whole', async () => {
    const it = await talk('a sudden death', fleet.clientOf('api-1'), fleet.clientOf('api-2'))
    const [driver = ''] = fleet.model.askedAbout(it.text)
    await fleet.get(driver).kill('SIGKILL')
    const { position } = await it.witness.until('STEP_INTERRUPTED')
    await it.witness.until('LLM_CHUNK', { after: position })
    expect(fleet.model.askedAbout(it.text).at(-1)).not.toBe(driver)
    const log = await finish(it)
    expect(log.filter((event) => event.type === 'STEP_INTERRUPTED')).toMatchObject([{ data: { reason: 'WORKER_LOST' } }])
  })
})

describe('from outside', () => {
  const doors: { readonly name: string; readonly proxy: boolean; readonly door: Door }[] = []

  beforeAll(async () => {
    const apiPorts = ['api-1', 'api-2'].map((name) => fleet.portOf(name))
    for (const { name, proxy, open } of DOORS) {
      const door = await open(apiPorts)
      opened.push(door)
      doors.push({ name, proxy, door })
    }
  })

  test('whoever has no token is refused, and through a proxy only /graphql can be reached', async () => {
    for (const { proxy, door } of doors) {
      const stranger = fleet.client(door.url, 'a-token-that-nobody-was-ever-given')
      await expect(stranger.agents.list()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
      const inside = ['/readyz', '/livez', '/metrics'].map(async (path) => (await fetch(door.url + path)).status)
      expect(await Promise.all(inside)).toEqual(proxy ? [404, 404, 404] : [200, 200, 200])
    }
  })

  test('a request of two megabytes gets through', async () => {
    const body = JSON.stringify({ query: '{ __typename }' }) + ' '.repeat(2_000_000)
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` }
    for (const { door } of doors) expect((await fetch(`${door.url}/graphql`, { method: 'POST', headers, body })).status).toBe(200)
  })

  test('a release replaces one after the other by its systemd unit, while clients stream and send: nothing is lost or doubled', async () => {
    const talks = await Promise.all(doors.map(({ name, door }) => talk(`a release, through ${name}`, fleet.client(door.url))))
    const chats = doors.map(({ name, door }) => new Chat(fleet.client(door.url), `chat:${name}`))
    for (const name of PROCESSES) {
      const stopped = stop(name, talks)
      const answered = Promise.all(chats.map((chat) => chat.say(`while ${name} is replaced`)))
      await stopped
      await fleet.startUnit(name)
      await answered
    }
    for (const chat of chats) await chat.expectWhole()
    for (const it of talks) await finish(it)
  })
})
