/** The examples in which sessions ask people, word for word. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const run = promisify(execFile)

async function outputOf(example: string): Promise<readonly string[]> {
  const args = ['node_modules/tsx/dist/cli.mjs', '--conditions=source', `examples/${example}`]
  const { stdout, stderr } = await run(process.execPath, args)
  expect(stderr).toBe('')
  return stdout.trim().split('\n')
}

it('05: a call that waits for a manager outlives its server and a day, and runs once', async () => {
  expect(await outputOf('05-approve-a-tool.ts')).toEqual([
    'customer: waits for role:manager',
    expect.stringMatching(/^--- kill -9 \d+; start again a day later ---$/),
    'manager:  reads "Allow refund?" {"order":"1042","amount":240}, and approves',
    'server:   pays 240 € back for order 1042',
    'customer: reads "Your money is back."',
  ])
}, 120_000)

it('06: a question is answered by an option, and by a plain message', async () => {
  expect(await outputOf('06-ask-the-user.ts')).toEqual([
    'asked:  Which wood? Oak, Walnut, Painted',
    'Noted: {"selected":["Walnut"]}.',
    'asked:  And when may we come?',
    'turn 1: Ordered. We come as you say: {"text":"Monday, before noon"}',
    'record: Which wood? answered by developer',
    'record: And when may we come? answered by developer',
  ])
}, 120_000)
