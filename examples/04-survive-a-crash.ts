/** Durability: a server is killed in the middle of a sentence, started again, and the turn goes on. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createClient } from '@perdure/sdk'

const dataDir = await mkdtemp(join(tmpdir(), 'perdure-example-'))
const port = await freePort()
const main = new URL('../dist/main.js', import.meta.url).pathname
const agents = new URL('agents', import.meta.url).pathname

/** The server of `npm start`, as a process of its own. */
async function start(): Promise<ChildProcess> {
  const env = { ...process.env, PERDURE_DATA_DIR: dataDir }
  const child = spawn(process.execPath, [main, 'start', agents, '--port', String(port), '--json'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(createInterface(child.stdout), 'line')
  return child
}

const client = createClient({ url: `http://127.0.0.1:${String(port)}/graphql` })
let server = await start()
console.log('sent: a long story, please\n')
const turn = client.agent('support').send('a long story, please')

let pieces = 0
for await (const event of turn) {
  if (event.type === 'LLM_CHUNK') {
    process.stdout.write(event.text)
    pieces += 1
    if (pieces === 25) {
      console.log(`\n\n--- kill -9 ${String(server.pid)}, and start again ---`)
      server.kill('SIGKILL')
      server = await start()
    }
  }
  // What the lost attempt had half written is taken back; the same step begins again.
  if (event.type === 'STEP_INTERRUPTED')
    console.log(`--- attempt ${String(event.attempt)} of step ${String(event.stepIndex)} was lost ---\n`)
}

const { status } = await turn.result()
const { session } = await turn.accepted
const answers = (await session.transcript())?.filter(({ role }) => role === 'ASSISTANT') ?? []
console.log(`\n\nturn ${status}: ${String(answers.length)} answer of ${String(answers[0]?.text.split(/\s+/).length)} words`)

server.kill('SIGTERM')
await once(server, 'exit')
await rm(dataDir, { recursive: true, force: true })

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  return typeof address === 'object' && address !== null ? address.port : 0
}
