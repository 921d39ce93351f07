import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createEventWriter } from '../../server/events/writer.js'
import type { SessionId } from '../../server/ids.js'
import type { StreamedEvent } from '../../server/session/events.js'
import type { EventStream } from '../../server/session/ports.js'
import { createFakeClock } from '../support/fake-clock.js'
import { createLogStore, leaseOf, sessionNamed, type Answer } from '../support/log-store.js'
import { chunk, progress, reasoning, toolInput } from '../support/sample-events.js'

const SESSIONS = ['one', 'two', 'three'].map(sessionNamed)
const SOURCES = { chunk, reasoning, toolInput }

const session = fc.constantFrom(...SESSIONS)
const answer: fc.Arbitrary<Answer> = fc.oneof(
  fc.constant<Answer>('throw'),
  fc.dictionary(session, fc.constantFrom('busy', 'silent'), { noNullPrototype: true }),
)
const command = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('piece'),
      session,
      source: fc.constantFrom('chunk', 'reasoning', 'toolInput'),
      block: fc.constantFrom('a', 'b'),
      text: fc.string({ minLength: 1, maxLength: 5, unit: 'grapheme' }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('progress'), session, call: fc.constantFrom('t', 'u') }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('pass'), ms: fc.constantFrom(0, 1, 7, 20, 150, 2_500) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('answer'), answer }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('hold') }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('release') }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('commit'), session, refused: fc.boolean() }) },
)
type Command = typeof command extends fc.Arbitrary<infer Value> ? Value : never

/** One session as its driver has it, and what it said in all. */
interface Driven {
  readonly stream: EventStream
  readonly said: Map<string, string>
  readonly newest: Map<string, number>
  commit: Promise<void>
}

class Run {
  readonly clock = createFakeClock()
  readonly store = createLogStore()
  readonly #sessions = new Map<SessionId, Driven>()
  #release = (): void => undefined
  #count = 0

  constructor() {
    const log = { warn: () => undefined, error: () => undefined }
    const writer = createEventWriter({ store: this.store, coordinator: { publish: () => undefined }, clock: this.clock, ttlMs: 1, log })
    for (const id of SESSIONS) {
      const stream = writer.open(leaseOf(id), { onFenced: () => undefined })
      this.#sessions.set(id, { stream, said: new Map(), newest: new Map(), commit: Promise.resolve() })
    }
  }

  async do(step: Command): Promise<void> {
    switch (step.do) {
      case 'piece':
        this.#say(step)
        return
      case 'progress': {
        const { stream, newest } = this.#driven(step.session)
        this.#count += 1
        newest.set(step.call, this.#count)
        stream.emit(progress(step.call, this.#count))
        return
      }
      case 'pass':
        return this.clock.advance(step.ms)
      case 'answer':
        this.store.answers.push(step.answer)
        return
      case 'hold':
        this.#release()
        this.#release = this.store.hold()
        return
      case 'release':
        this.#release()
        return
      case 'commit':
        this.#commit(step)
        return
    }
  }

  /** Everything that was emitted gets through in the end. */
  async finish(): Promise<void> {
    this.store.answers.length = 0
    this.#release()
    await this.clock.advance(5_000)
    for (const { commit } of this.#sessions.values()) await commit
    await this.clock.advance(5_000)
  }

  check(): void {
    for (const [id, { said, newest }] of this.#sessions) {
      const heard = new Map<string, string>()
      const last = new Map<string, unknown>()
      for (const event of this.store.log(id)) read(event as StreamedEvent, heard, last)
      expect(heard).toEqual(said)
      expect(last).toEqual(newest)
    }
    for (const batches of this.store.appends) expect(new Set(batches.map(({ lease }) => lease.sessionId)).size).toBe(batches.length)
    expect(this.clock.pending).toBe(0)
  }

  #driven(id: SessionId): Driven {
    const driven = this.#sessions.get(id)
    if (driven === undefined) throw new Error(`no session ${id}`)
    return driven
  }

  #say({ session: id, source, block, text }: { session: SessionId; source: string; block: string; text: string }): void {
    const { said, stream } = this.#driven(id)
    const key = `${source} ${block}`
    const before = said.get(key) ?? ''
    said.set(key, before + text)
    stream.emit(SOURCES[source as keyof typeof SOURCES](block, before.length, text))
  }

  /** As the driver does it: take, write or be refused, resume. Beside whatever else happens. */
  #commit({ session: id, refused }: { session: SessionId; refused: boolean }): void {
    const driven = this.#driven(id)
    driven.commit = driven.commit.then(async () => {
      const taken = await driven.stream.take()
      await Promise.resolve()
      if (!refused && taken.length > 0) this.store.write(id, taken)
      driven.stream.resume(refused ? taken : [])
    })
  }
}

function read(event: StreamedEvent, heard: Map<string, string>, last: Map<string, unknown>): void {
  if (event.type === 'TOOL_CALL_PROGRESS') {
    last.set(event.data.callId.slice(5), event.data.output)
    return
  }
  const source = event.type === 'LLM_CHUNK' ? 'chunk' : event.type === 'LLM_REASONING' ? 'reasoning' : 'toolInput'
  const block = event.type === 'LLM_TOOL_INPUT' ? event.data.callId.slice(5) : event.data.blockId.slice(4)
  const before = heard.get(`${source} ${block}`) ?? ''
  expect(event.data.offset).toBe(before.length)
  heard.set(`${source} ${block}`, before + event.data.text)
}

test('whatever the database answers, every block reads as it was said, with the right offsets, and the newest progress arrives', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 60 }), async (commands) => {
      const run = new Run()
      for (const step of commands) await run.do(step)
      await run.finish()
      run.check()
    }),
    { numRuns: 300 },
  )
})
