/** Approvals: a call waits for a manager. The server is killed, a day passes, another one is started, she says yes, and the call runs, once. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient, type Client } from '@perdure/sdk'
import { createPerdure, defineAgent, defineTool, scripted } from 'perdure'
import { z } from 'zod'

const input = z.object({ order: z.string(), amount: z.number() })
const refund = defineTool({
  description: 'Pays an order back.',
  input,
  execute({ order, amount }) {
    console.log(`server:   pays ${amount} € back for order ${order}`)
    return { paid: amount }
  },
})

const shop = defineAgent({
  name: 'shop',
  instructions: 'Refund what customers ask for.',
  tools: { refund },
  // Up to 100 € the agent refunds by itself; over it a manager is asked. Nobody else may answer, not even the customer.
  approvals: [{ tool: 'refund', when: (call) => input.parse(call.input).amount > 100, reviewers: ['role:manager'] }],
  model: scripted(({ step }) =>
    step === 0 ? { calls: [{ name: 'refund', input: { order: '1042', amount: 240 } }] } : 'Your money is back.',
  ),
})

const DAY_MS = 24 * 3600_000
const [, file = '', dataDir] = process.argv
await (dataDir === undefined ? tell() : serve(dataDir))

async function tell(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-example-'))
  const today = await start(folder)
  const waiting = await askFor(as('ann', today.url)).result()
  if (waiting.status === 'waiting') console.log(`customer: waits for ${waiting.requests[0]?.reviewers.join() ?? ''}`)

  console.log(`--- kill -9 ${String(today.server.pid)}; start again a day later ---`)
  today.server.kill('SIGKILL')
  const tomorrow = await start(folder, DAY_MS)

  // The queue is live: what is open comes first, then whatever opens.
  for await (const request of as('mia;role=manager', tomorrow.url).inputRequests({ kind: 'APPROVAL' })) {
    console.log(`manager:  reads "${request.prompt}" ${JSON.stringify(request.toolCall?.input)}, and approves`)
    await request.approve('She is a regular')
    break
  }

  // The same key is the same message: its turn is found again, wherever it stands.
  const result = await askFor(as('ann', tomorrow.url)).result({ throughWaits: true })
  if (result.status === 'completed') console.log(`customer: reads "${result.text}"`)
  tomorrow.server.kill('SIGTERM')
  await once(tomorrow.server, 'exit')
  await rm(folder, { recursive: true, force: true })
}

/** On this machine a header says who one is; your own server has `authenticate` for that. */
function as(who: string, url: string): Client {
  return createClient({ url, headers: { 'x-perdure-principal': who } })
}
function askFor(customer: Client) {
  return customer.agent('shop').send('My table came broken, I want my money back', { idempotencyKey: 'order-1042' })
}

/** This file again, as the server, with a clock that is so far ahead. */
async function start(folder: string, aheadMs = 0): Promise<{ readonly server: ChildProcess; readonly url: string }> {
  const execArgv = [...process.execArgv, '--import', new URL('../test/support/shifted-clock.mjs', import.meta.url).href]
  const server = fork(file, [folder], { execArgv, env: { ...process.env, TEST_CLOCK_SHIFT_MS: String(aheadMs) } })
  return { server, url: String((await once(server, 'message'))[0]) }
}
async function serve(folder: string): Promise<void> {
  const perdure = await createPerdure({ agents: [shop], config: { port: 0, dataDir: folder, databaseUrl: null, logLevel: 'error' } })
  process.once('SIGTERM', () => void perdure.stop().then(() => process.exit()))
  process.send?.(`${(await perdure.listen()).url}/graphql`)
}
