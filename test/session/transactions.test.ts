/** What a turn costs the database: transactions by kind, and what they carry. One statement is one round trip and one transaction. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defineAgent } from '../../server/agents/define-agent.js'
import { defineTool } from '../../server/agents/define-tool.js'
import { systemClock } from '../../server/clock.js'
import { scripted } from '../../server/models/scripted.js'
import type { Database } from '../../server/store/database.js'
import type { OpenStore } from '../../server/store/open.js'
import { createSessionStore } from '../../server/store/session-store.js'
import { openTestPostgres } from '../support/databases.js'
import { startWorld, type World } from '../support/world.js'

interface Sent {
  readonly kind: string
  /** Length of what it carried. */
  readonly size: number
}

/** Watches what goes to the database, but for the sweep, which no turn causes. */
function watch(database: Database, sent: Sent[]): Database {
  return {
    ...database,
    query: (statement, values) => {
      const [kind = ''] = statement.name.match(/^(commit|[a-z-]+)/) ?? []
      if (kind !== 'sweep') sent.push({ kind: kind.startsWith('commit') ? 'commit' : kind, size: JSON.stringify(values).length })
      return database.query(statement, values)
    },
  }
}

const look = defineTool({ description: 'Looks.', input: { type: 'object' }, execute: () => 'seen' })
const teller = defineAgent({
  name: 'teller',
  instructions: 'Answer.',
  tools: { look },
  model: scripted(({ lastUserText, step }) => {
    if (lastUserText === 'look' && step === 0) return { calls: [{ name: 'look', input: {} }] }
    if (lastUserText === 'both' && step === 0)
      return {
        calls: [
          { name: 'look', input: {} },
          { name: 'look', input: {} },
        ],
      }
    if (lastUserText === 'slowly') return { text: 'one two three four five six', delayMs: 30 }
    return 'an answer'
  }),
})

describe('what a turn costs the database', () => {
  const sent: Sent[] = []
  let opened: OpenStore
  let world: World

  beforeAll(async () => {
    opened = await openTestPostgres()
    const store = createSessionStore(watch(opened.database, sent), systemClock)
    world = startWorld({ store, agents: [teller], sweepIntervalMs: 60_000 })
  })
  afterAll(async () => {
    await world.stop()
    await opened.close()
  })

  /** Statements of one turn of a session that rests, without what the test itself reads. */
  async function turnOf(text: string): Promise<readonly string[]> {
    const sessionId = await world.open('teller', 'first')
    await world.untilRest(sessionId)
    sent.length = 0
    await world.send(sessionId, text)
    await world.until(sessionId, (log) => log.filter((event) => event.type === 'SESSION_WAITING').length === 2)
    return sent.map(({ kind }) => kind).filter((kind) => kind !== 'read-events')
  }

  test('without tools: 1 deliver, 1 claim, 2 commits, and the history is read once', async () => {
    expect(await turnOf('hello')).toEqual(['deliver', 'claim', 'commit', 'load-history', 'commit'])
  })

  test('the first turn of a session reads no history, and nothing is appended when the model answers at once', async () => {
    sent.length = 0
    const sessionId = await world.open('teller', 'hello')
    await world.untilRest(sessionId)
    expect(sent.map(({ kind }) => kind).filter((kind) => kind !== 'read-events')).toEqual(['create-session', 'claim', 'commit', 'commit'])
  })

  test('a step with a tool: 2 commits more, however many calls were ready together', async () => {
    expect((await turnOf('look')).filter((kind) => kind === 'commit')).toHaveLength(4)
    expect((await turnOf('both')).filter((kind) => kind === 'commit')).toHaveLength(4)
  })

  test('while the model streams: appends between the commits, and no other statement', async () => {
    const kinds = await turnOf('slowly')
    expect(kinds.filter((kind) => kind !== 'append-events')).toEqual(['deliver', 'claim', 'commit', 'load-history', 'commit'])
    expect(kinds.filter((kind) => kind === 'append-events').length).toBeGreaterThanOrEqual(2)
    expect(kinds.filter((kind) => kind === 'append-events').length).toBeLessThanOrEqual(6)
  })

  test('what it writes is the same at turn 500 as at turn 2', async () => {
    const sessionId = await world.open('teller', 'hello')
    await world.untilRest(sessionId)
    const turn = async (): Promise<number> => {
      const before = sent.length
      const rested = world.untilNext(sessionId, 'SESSION_WAITING')
      await world.send(sessionId, 'hello')
      await rested
      return sent.slice(before).reduce((sum, { kind, size }) => sum + (kind === 'commit' || kind === 'deliver' ? size : 0), 0)
    }
    const second = await turn()
    let last = 0
    for (let number = 3; number <= 500; number += 1) last = await turn()
    // Numbers have more digits, nothing else.
    expect(last / second).toBeLessThan(1.03)
  })
})
