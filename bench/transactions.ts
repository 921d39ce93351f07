/** Transactions: how many each kind of turn of a session takes, by the name of the statement. A statement is a transaction. */
import { askForSteps, SIMPLE } from './agent.js'
import type { Bench } from './bench.js'
import type { Counts, Figures } from './results.js'
import { startTalk } from './talk.js'

export async function countTransactions(bench: Bench): Promise<Figures['transactions']> {
  return { simpleTurn: await countTurns(bench, SIMPLE), oneToolTurn: await countTurns(bench, askForSteps(1)) }
}

/** The first turn, which reads no history, is not counted. */
async function countTurns({ engine, sizes, signal }: Bench, message: string): Promise<Counts> {
  const talk = await startTalk(engine)
  await talk.say(message)
  engine.recorder.take()
  for (let turn = 0; turn < sizes.countedTurns; turn += 1) {
    signal.throwIfAborted()
    await talk.say(message)
  }
  const sent = engine.recorder.take()
  engine.recorder.stop()
  talk.close()
  const names = new Set(sent.map(({ statement }) => statement.name))
  return Object.fromEntries(
    [...names].map((name) => [name, sent.filter(({ statement }) => statement.name === name).length / sizes.countedTurns]),
  )
}
