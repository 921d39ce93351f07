/**
 * One-tool step: from a call of the model to the next one in the same turn. Between them lie the two commits of the step (the answer with
 * the started call; its result with the next step) and all that the engine does around them. Beside it the same statements, recorded
 * from such a turn, sent bare: with values of the same shape, to a session of its own each time.
 */
import { systemClock } from '../server/clock.js'
import type { IdPrefix, IdSource } from '../server/ids.js'
import { toText, type SqlValue } from '../server/store/json-column.js'
import { askForSteps } from './agent.js'
import type { Bench } from './bench.js'
import { isCommit, type Sent } from './recorder.js'
import { createSeries, type Series } from './series.js'
import { startTalk } from './talk.js'

/** Each session is new, as the replayed ones are. */
export function createToolStep({ engine, sizes }: Bench): Series {
  const message = askForSteps(sizes.steps)
  return createSeries(async () => {
    const samples: number[] = []
    for (let turn = 0; turn < sizes.stepTurns; turn += 1) {
      const talk = await startTalk(engine)
      engine.takeModelCalls()
      await talk.say(message)
      talk.close()
      const calls = engine.takeModelCalls()
      if (calls.length !== sizes.steps + 1) throw new Error(`the model was called ${calls.length} times in a turn of ${sizes.steps} steps`)
      samples.push(...calls.slice(1).map((at, index) => at - (calls[index] ?? at)))
    }
    return samples
  })
}

export async function createBareStatements({ engine, sizes }: Bench): Promise<Series> {
  const turn = await recordTurn(engine, sizes.steps)
  const first = turn.findIndex(isCommit) + 1
  const steps = turn.slice(first, first + 2 * sizes.steps)
  const rest = turn.slice(first + 2 * sizes.steps)
  if (!steps.every(isCommit) || rest.length !== 1) throw new Error(`a turn was ${turn.map(({ statement }) => statement.name).join(', ')}`)

  async function send({ statement, rows }: Sent, values: readonly SqlValue[]): Promise<void> {
    const answer = await engine.database.query(statement, values)
    if (answer.length !== rows) throw new Error(`${statement.name} answered ${answer.length} rows instead of ${rows}`)
  }

  /** Milliseconds of one step. */
  async function replay(): Promise<number> {
    const values = new Map(turn.map((sent) => [sent, [...sent.values]]))
    renameIds(values.values(), engine.ids)
    for (const sent of turn.slice(0, first)) await send(sent, values.get(sent) ?? [])
    const started = systemClock.monotonic()
    for (const sent of steps) await send(sent, values.get(sent) ?? [])
    const took = systemClock.monotonic() - started
    for (const sent of rest) await send(sent, values.get(sent) ?? [])
    return took / sizes.steps
  }

  return createSeries(async () => {
    const samples: number[] = []
    while (samples.length < sizes.stepTurns) samples.push(await replay())
    return samples
  })
}

/** All statements of a session's first turn, its creation included. */
async function recordTurn(engine: Bench['engine'], steps: number): Promise<readonly Sent[]> {
  engine.recorder.take()
  const talk = await startTalk(engine)
  await talk.say(askForSteps(steps))
  talk.close()
  const turn = engine.recorder.take()
  engine.recorder.stop()
  return turn
}

const ID = /\b(ses|turn|stp|call|blk|dlv|wrk)_[0-7][0-9a-hjkmnp-tv-z]{25}\b/g

/** Puts a new identifier for each one, everywhere the same. */
function renameIds(lists: Iterable<SqlValue[]>, ids: IdSource): void {
  const names = new Map<string, string>()
  const rename = (id: string, prefix: IdPrefix): string => {
    const known = names.get(id) ?? ids.next(prefix)
    names.set(id, known)
    return known
  }
  for (const values of lists) {
    for (const [index, value] of values.entries()) if (typeof value === 'string') values[index] = toText(value.replace(ID, rename))
  }
}
