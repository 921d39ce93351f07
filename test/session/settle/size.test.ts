/** What a commit writes does not grow with the session's length, and the checkpoint stays small. */
import { describe, expect, test } from 'vitest'
import type { Commit } from '../../../server/session/commit.js'
import { addDeliveries, applyCommit, type Session } from '../../../server/session/session.js'
import { settleOutcomes } from '../../../server/session/settle/settle.js'
import { answered, asked, ended, givenSession, message, settlingAt } from '../../support/given.js'
import { walk, withParking } from '../walk.js'

/** Digits grow; nothing else may. */
const SLACK_BYTES = 24

function settled(session: Session, outcome: Parameters<typeof settleOutcomes>[1][number]): Commit {
  const commit = settleOutcomes(session, [outcome], settlingAt())
  if (commit === null) throw new Error('nothing was settled')
  return withParking(session, commit)
}

/** One turn with a tool, from its message to its park. */
function runTurn(from: Session, position: number): { readonly session: Session; readonly commits: readonly Commit[] } {
  const started = walk(addDeliveries(from, [message(position, 'Where is my order?')]))
  const commits = [...started.commits]
  let { session } = started
  for (const outcome of [answered('Let me see.', [asked('look')]), ended('look'), answered('It is on its way.')]) {
    const commit = settled(session, outcome)
    commits.push(commit)
    session = applyCommit(session, commit)
  }
  return { session, commits }
}

function bytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}

describe('a session of 500 turns', () => {
  let session = givenSession({ phase: { kind: 'created' } })
  const sizes: number[][] = []
  let largest = 0
  for (let turn = 1; turn <= 500; turn += 1) {
    const ran = runTurn(session, turn)
    session = ran.session
    sizes.push(ran.commits.map(bytes))
    largest = Math.max(largest, ...ran.commits.map((commit) => bytes(commit.checkpoint)))
  }

  test('writes as much in each commit of its last turn as in those of its second', () => {
    const [second, last] = [sizes[1] ?? [], sizes.at(-1) ?? []]
    expect(last).toHaveLength(4)
    for (const [index, size] of last.entries()) expect(Math.abs(size - (second[index] ?? 0))).toBeLessThan(SLACK_BYTES)
  })

  test('has a checkpoint of less than two kilobytes at every commit', () => {
    expect(session.checkpoint.turns).toBe(500)
    expect(session.checkpoint.historyLength).toBe(2000)
    expect(largest).toBeLessThan(2048)
  })

  test('keeps no settled delivery and no row of a closed step', () => {
    expect(session.deliveries).toEqual([])
    expect(session.calls.size).toBe(0)
  })
})

test('a checkpoint with thirty open calls holds neither their inputs nor their results', () => {
  const input = { text: 'x'.repeat(10_000) }
  const calls = Array.from({ length: 30 }, (_, index) => asked(`tool_${index}`, { input }))
  const started = walk(givenSession({ phase: { kind: 'idle' }, deliveries: [message(1)] })).session
  const { checkpoint } = settled(started, answered('', calls))
  expect(checkpoint.phase.kind).toBe('acting')
  expect(bytes(checkpoint)).toBeLessThan(8192)
})
