/** The claims of a real SIGKILL, for one database; run for each by the test files beside this one. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createClient, type Session } from '../../sdk/index.js'
import { systemClock } from '../../server/clock.js'
import { storedId } from '../../server/ids.js'
import { openStore } from '../../server/store/open.js'
import { findInvalid } from '../../server/session/history.js'
import { checkLog } from '../support/check-log.js'
import { MIGRATIONS, type TestDatabase } from '../support/databases.js'
import { findFreePort, startServerProcess, type ServerProcess } from '../support/server-process.js'
import { readLog } from '../support/world.js'

const AGENTS = fileURLToPath(new URL('agents.ts', import.meta.url))

/** A server that can be killed and started again at the same address, and two clients that follow a session all the while. */
class Deployment {
  readonly folder: string
  readonly #port: number
  readonly #database: TestDatabase | null
  readonly #abort = new AbortController()
  #process: ServerProcess | null = null

  private constructor(folder: string, port: number, database: TestDatabase | null) {
    this.folder = folder
    this.#port = port
    this.#database = database
  }

  static async create(database: TestDatabase | null): Promise<Deployment> {
    const folder = await mkdtemp(join(tmpdir(), 'perdure-crash-'))
    return new Deployment(folder, await findFreePort(), database)
  }

  async start(): Promise<void> {
    const database = this.#database === null ? {} : { DATABASE_URL: this.#database.url, PERDURE_LEASE_TTL_MS: '1000' }
    const env = { PERDURE_TEST_FOLDER: this.folder, PERDURE_DATA_DIR: join(this.folder, 'data'), ...database }
    this.#process = await startServerProcess({ agents: AGENTS, port: this.#port, env, cwd: this.folder })
  }

  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<number | null> {
    return (await this.#process?.kill(signal)) ?? null
  }

  client() {
    return createClient({ url: `http://127.0.0.1:${String(this.#port)}/graphql` })
  }

  /** Follows from the start to the end of the session; answers the cursors that it was given. */
  async follow(sessionId: string): Promise<readonly number[]> {
    const seen: number[] = []
    for await (const event of this.client().session(sessionId).events({ signal: this.#abort.signal })) seen.push(Number(event.cursor))
    return seen
  }

  openGate(): Promise<void> {
    return writeFile(join(this.folder, 'gate'), '')
  }

  /** How often each tool's code began. */
  async calls(): Promise<readonly string[]> {
    const text = await readFile(join(this.folder, 'calls.log'), 'utf8').catch(() => '')
    return text.split('\n').filter((line) => line !== '')
  }

  /** The log as the database has it, checked; the server must be down. */
  async readLog(sessionId: string) {
    const opened = await openStore({
      databaseUrl: this.#database?.url ?? null,
      dataDir: join(this.folder, 'data'),
      migrationsDir: MIGRATIONS,
      clock: systemClock,
    })
    try {
      const id = storedId('ses', sessionId)
      const log = await readLog(opened.store, id)
      expect(checkLog(log)).toEqual([])
      expect(findInvalid(await opened.store.loadHistory(id, 0))).toBeNull()
      return log
    } finally {
      await opened.close()
    }
  }

  async remove(): Promise<void> {
    this.#abort.abort()
    await this.kill()
    await this.#database?.drop()
    await rm(this.folder, { recursive: true, force: true })
  }
}

async function untilEvent(session: Session, type: string): Promise<void> {
  for await (const event of session.events({ last: 1000 })) if (event.type === type) return
}

/** `createDatabase` answers null for the embedded one. */
export function sigkillSuite(name: string, createDatabase: () => Promise<TestDatabase | null>): void {
  describe(`a server killed with SIGKILL (${name})`, () => {
    let deployment: Deployment

    beforeEach(async () => {
      deployment = await Deployment.create(await createDatabase())
      await deployment.start()
    })
    afterEach(() => deployment.remove())

    /** Sends, kills at the first event of the type, starts again, lets the turn finish, ends the session, and checks everything. */
    async function killAt(text: string, type: string) {
      const turn = deployment.client().agent('crash').send(text)
      const { session } = await turn.accepted
      const followers = [deployment.follow(session.id), deployment.follow(session.id)]
      await untilEvent(session, type)
      await deployment.kill()
      await deployment.start()
      await deployment.openGate()
      const result = await turn.result()
      await session.end()
      const seen = await Promise.all(followers)
      const transcript = await session.transcript()
      expect(await deployment.kill('SIGTERM')).toBe(0)
      const log = await deployment.readLog(session.id)
      for (const cursors of seen) expect(cursors).toEqual(log.map((event) => event.position))
      return { result, transcript, log, calls: await deployment.calls() }
    }

    test('while the model streams: the answer is made again, whole', async () => {
      const { result, log } = await killAt('story', 'LLM_CHUNK')
      expect(result).toMatchObject({ status: 'completed', number: 1 })
      expect(log.some((event) => event.type === 'STEP_INTERRUPTED' && event.data.reason === 'WORKER_LOST')).toBe(true)
      expect(log.filter((event) => event.type === 'MESSAGE_COMPLETED')).toHaveLength(1)
    })

    test('while a tool runs: it is not run again, and the model is told (R3)', async () => {
      const { result, log, calls } = await killAt('charge', 'TOOL_CALL_START')
      expect(calls.map((line) => line.split(' ')[0])).toEqual(['charge'])
      expect(result).toMatchObject({ status: 'completed', text: 'done after step 1' })
      expect(log.find((event) => event.type === 'TOOL_CALL_END')?.data).toMatchObject({ status: 'ABANDONED' })
    })

    test('while an idempotent tool runs: it runs again under the same call id', async () => {
      const { result, log, calls } = await killAt('look', 'TOOL_CALL_START')
      expect(result).toMatchObject({ status: 'completed' })
      expect(calls.length).toBeGreaterThanOrEqual(1)
      expect(new Set(calls).size).toBe(1)
      expect(log.find((event) => event.type === 'TOOL_CALL_END')?.data).toMatchObject({ status: 'COMPLETED', output: 'look done' })
    })

    test('between two tool results: the one that is there is kept', async () => {
      const { result, log, calls } = await killAt('both', 'TOOL_CALL_END')
      expect(calls.map((line) => line.split(' ')[0]).sort()).toEqual(['charge', 'quick'])
      expect(result).toMatchObject({ status: 'completed' })
      const ends = log.flatMap((event) => (event.type === 'TOOL_CALL_END' ? [[event.data.name, event.data.status]] : []))
      expect(ends).toEqual([
        ['quick', 'COMPLETED'],
        ['charge', 'ABANDONED'],
      ])
    })

    test('while it is idle: the next message goes on where it was', async () => {
      const turn = deployment.client().agent('crash').send('first')
      const { session } = await turn.accepted
      await turn.result()
      await deployment.kill()
      await deployment.start()
      expect(await session.send('second').result()).toMatchObject({ status: 'completed', number: 2, text: 'you said: second' })
      expect(await session.transcript()).toMatchObject([
        { role: 'USER', text: 'first' },
        { role: 'ASSISTANT', text: 'you said: first' },
        { role: 'USER', text: 'second' },
        { role: 'ASSISTANT', text: 'you said: second' },
      ])
    })

    test('stopped with SIGTERM instead: the model call is handed back, and counts as no crash', async () => {
      const turn = deployment.client().agent('crash').send('story')
      const { session } = await turn.accepted
      await untilEvent(session, 'LLM_CHUNK')
      expect(await deployment.kill('SIGTERM')).toBe(0)
      await deployment.start()
      expect(await turn.result()).toMatchObject({ status: 'completed' })
    })
  })
}
