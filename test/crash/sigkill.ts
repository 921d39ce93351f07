/**
 * The claims of a real SIGKILL for a process that does everything, for one kind of storage; run for each by the test files beside this one.
 * One death finds a session in each phase: a process takes longer to start than all of them to play.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Session, SessionEvent, TranscriptMessage, TurnHandle, TurnResult } from '../../sdk/index.js'
import { systemClock } from '../../server/clock.js'
import { storedId } from '../../server/ids.js'
import type { RecordedEvent } from '../../server/session/events.js'
import { openStore } from '../../server/store/open.js'
import { MIGRATIONS } from '../support/databases.js'
import { Deployment, type DeploymentOptions } from '../support/deployment.js'
import { expectSound } from '../support/expect-sound.js'
import type { ServerProcess } from '../support/server-process.js'
import { Witness } from '../support/witness.js'
import { AGENTS } from './stage.js'

export interface Storage extends Pick<DeploymentOptions, 'databaseUrl' | 'redis'> {
  remove(): Promise<void>
}

/** In which phase the server is killed, or told to stop: what is sent, and the event after which the session is there. */
const PHASES = {
  streaming: ['story gate', 'LLM_CHUNK'],
  running: ['charge gate', 'TOOL_CALL_START'],
  repeatable: ['look gate', 'TOOL_CALL_START'],
  between: ['both gate', 'TOOL_CALL_END'],
  idle: ['first', 'SESSION_WAITING'],
  stopped: ['story before', 'LLM_CHUNK'],
} as const satisfies Record<string, readonly [text: string, reached: SessionEvent['type']]>
type Phase = keyof typeof PHASES

interface Conversation {
  readonly session: Session
  readonly turn: TurnHandle<Session>
  readonly witnesses: readonly Witness[]
}
interface Played {
  readonly result: TurnResult
  readonly log: readonly RecordedEvent[]
  readonly transcript: readonly TranscriptMessage[] | null
}

/** A server that is killed and started again at the same address, and the sessions that live through it. */
class Theatre {
  readonly #deployment: Deployment
  readonly #storage: Storage
  readonly #conversations = new Map<Phase, Conversation>()
  readonly #abort = new AbortController()
  readonly #played = new Map<Phase, Played>()
  #process: ServerProcess

  private constructor(deployment: Deployment, storage: Storage, process: ServerProcess) {
    this.#deployment = deployment
    this.#storage = storage
    this.#process = process
  }

  static async open(storage: Storage): Promise<Theatre> {
    const { databaseUrl, redis } = storage
    const deployment = await Deployment.create({ agents: AGENTS, databaseUrl, redis, leaseTtlMs: 1000 })
    return new Theatre(deployment, storage, await deployment.start())
  }

  async close(): Promise<void> {
    this.#abort.abort(new Error('the test is over'))
    await this.#deployment.remove()
    await this.#storage.remove()
  }

  /** Begins a session and brings it into its phase, followed by two subscribers. */
  async begin(phase: Phase): Promise<void> {
    const [text, reached] = PHASES[phase]
    const turn = this.#deployment.client(this.#process).agent('crash').send(text)
    const { session } = await turn.accepted
    const witnesses = [new Witness(session, this.#abort.signal), new Witness(session, this.#abort.signal)]
    this.#conversations.set(phase, { session, turn, witnesses })
    await Promise.all(witnesses.map((witness) => witness.until(reached)))
  }

  openGate(name: string): Promise<void> {
    return writeFile(join(this.#deployment.folder, `gate-${name}`), '')
  }

  /** Ends the process; answers its exit code. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    return this.#process.kill(signal)
  }

  async startAgain(): Promise<void> {
    this.#process = await this.#deployment.start({ port: this.#process.port })
  }

  result(phase: Phase): Promise<TurnResult> {
    return this.#get(this.#conversations, phase).turn.result()
  }

  /** Another message, answered. */
  send(phase: Phase, text: string): Promise<TurnResult> {
    return this.#get(this.#conversations, phase).session.send(text).result()
  }

  /** Ends all sessions, stops, and checks what the database has of each. */
  async finish(): Promise<void> {
    const stories = await Promise.all(
      [...this.#conversations].map(async ([phase, { session, turn, witnesses }]) => {
        const [result, transcript] = [await turn.result(), await session.transcript()]
        await session.end()
        await Promise.all(witnesses.map((witness) => witness.ended))
        return { phase, session, witnesses, result, transcript }
      }),
    )
    expect(await this.end('SIGTERM')).toBe(0)
    const { databaseUrl } = this.#storage
    const opened = await openStore({ databaseUrl, dataDir: this.#deployment.dataDir, migrationsDir: MIGRATIONS, clock: systemClock })
    try {
      for (const { phase, session, witnesses, result, transcript } of stories) {
        const log = await expectSound(opened.store, storedId('ses', session.id))
        for (const witness of witnesses) expect(witness.told).toEqual(log.map((event) => `${event.position} ${event.type}`))
        this.#played.set(phase, { result, log, transcript })
      }
    } finally {
      await opened.close()
    }
  }

  played(phase: Phase): Played {
    return this.#get(this.#played, phase)
  }

  /** `name callId` for each time that the code of one of these calls began. */
  async starts(phase: Phase): Promise<readonly string[]> {
    const ids = this.played(phase).log.flatMap((event) => (event.type === 'TOOL_CALL_START' ? [event.data.callId] : []))
    const text = await readFile(join(this.#deployment.folder, 'calls.log'), 'utf8')
    const started = text.split('\n').map((line) => line.split(' ').slice(0, 2).join(' '))
    return started.filter((line) => ids.some((id) => line.endsWith(id)))
  }

  #get<Value>(all: ReadonlyMap<Phase, Value>, phase: Phase): Value {
    const found = all.get(phase)
    if (found === undefined) throw new Error(`${phase} was not played`)
    return found
  }
}

export function sigkillSuite(name: string, openStorage: () => Promise<Storage>): void {
  describe(`a server killed with SIGKILL (${name})`, () => {
    let theatre: Theatre
    let second: TurnResult

    beforeAll(async () => {
      theatre = await Theatre.open(await openStorage())
      await theatre.begin('stopped')
      expect(await theatre.end('SIGTERM')).toBe(0)
      await theatre.startAgain()
      await theatre.openGate('before')
      await theatre.result('stopped')
      await Promise.all((['idle', 'running', 'repeatable', 'between', 'streaming'] as const).map((phase) => theatre.begin(phase)))
      await theatre.end('SIGKILL')
      await theatre.startAgain()
      await theatre.openGate('gate')
      second = await theatre.send('idle', 'second')
      await theatre.finish()
    })
    afterAll(() => theatre.close())

    test('while the model streams: the answer is made again, whole', () => {
      const { result, log } = theatre.played('streaming')
      expect(result).toMatchObject({ status: 'completed', number: 1 })
      expect(log.some((event) => event.type === 'STEP_INTERRUPTED' && event.data.reason === 'WORKER_LOST')).toBe(true)
      expect(log.filter((event) => event.type === 'MESSAGE_COMPLETED')).toHaveLength(1)
    })

    test('while a tool runs: it is not run again, and the model is told (R3)', async () => {
      const { result, log } = theatre.played('running')
      expect((await theatre.starts('running')).map((line) => line.split(' ')[0])).toEqual(['charge'])
      expect(result).toMatchObject({ status: 'completed', text: 'done after step 1' })
      expect(log.find((event) => event.type === 'TOOL_CALL_END')?.data).toMatchObject({ status: 'ABANDONED' })
    })

    test('while an idempotent tool runs: it runs again under the same call id', async () => {
      const { result, log } = theatre.played('repeatable')
      expect(result).toMatchObject({ status: 'completed' })
      const starts = await theatre.starts('repeatable')
      expect(starts.length).toBeGreaterThanOrEqual(1)
      expect(new Set(starts).size).toBe(1)
      expect(log.find((event) => event.type === 'TOOL_CALL_END')?.data).toMatchObject({ status: 'COMPLETED', output: 'look done' })
    })

    test('between two tool results: the one that is there is kept', async () => {
      const { result, log } = theatre.played('between')
      expect((await theatre.starts('between')).map((line) => line.split(' ')[0]).sort()).toEqual(['charge', 'quick'])
      expect(result).toMatchObject({ status: 'completed' })
      const ends = log.flatMap((event) => (event.type === 'TOOL_CALL_END' ? [[event.data.name, event.data.status]] : []))
      expect(ends).toEqual([
        ['quick', 'COMPLETED'],
        ['charge', 'ABANDONED'],
      ])
    })

    test('while it is idle: the next message goes on where it was', () => {
      expect(second).toMatchObject({ status: 'completed', number: 2, text: 'you said: second' })
      expect(theatre.played('idle').transcript).toMatchObject([
        { role: 'USER', text: 'first' },
        { role: 'ASSISTANT', text: 'you said: first' },
        { role: 'USER', text: 'second' },
        { role: 'ASSISTANT', text: 'you said: second' },
      ])
    })

    test('stopped with SIGTERM instead: the model call is handed back, and counts as no crash', () => {
      const { result, log } = theatre.played('stopped')
      expect(result).toMatchObject({ status: 'completed', text: expect.stringMatching(/the end$/) })
      expect(log.filter((event) => event.type === 'MESSAGE_COMPLETED')).toHaveLength(1)
    })
  })
}
