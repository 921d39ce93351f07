/** The chat client against a server that we did not write: @dwmkerr/mock-llm, which streams texts and errors, but no tool calls. */
import { createRequire } from 'node:module'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openaiChat } from '../../server/models/openai-chat.js'
import { readAnswer } from '../support/read-answer.js'
import { sampleRequest } from '../support/sample-request.js'

const TEXT = 'Grüße aus 東京: a text that is longer than one piece of the stream.'
const CONFIG = {
  streaming: { chunkSize: 7, chunkIntervalMs: 1 },
  rules: [
    rule('@', 200, { id: 'x', model: 'm', choices: [{ message: { role: 'assistant', content: TEXT }, finish_reason: 'stop' }] }),
    rule("contains(body.messages[-1].content, 'error-401')", 401, { error: { message: 'Incorrect API key', code: 'invalid_api_key' } }),
    rule("contains(body.messages[-1].content, 'error-429')", 429, { error: { message: 'Slow down', code: 'rate_limit_exceeded' } }),
    rule("body.messages[0].role == 'system' && length(body.tools) == `1` && body.messages[3].role == 'tool'", 200, {
      id: 'x',
      model: 'm',
      choices: [{ message: { role: 'assistant', content: 'It read: {{jmes request body.messages[3].content}}' }, finish_reason: 'stop' }],
    }),
  ],
}
let folder = ''
let child: ChildProcess | null = null
let baseUrl = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mock-llm-'))
  const config = join(folder, 'config.json')
  await writeFile(config, JSON.stringify(CONFIG))
  const port = await findFreePort()
  const main = createRequire(import.meta.url).resolve('@dwmkerr/mock-llm')
  child = spawn(process.execPath, [main, '--config', config], {
    env: { ...process.env, HOST: '127.0.0.1', PORT: String(port) },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  await untilPrinted(child, 'server running')
  baseUrl = `http://127.0.0.1:${port}/v1`
})
afterAll(async () => {
  if (child !== null && child.kill()) await once(child, 'exit')
  await rm(folder, { recursive: true, force: true })
})

const says = (text: string) => sampleRequest({ history: [{ role: 'user', text }] })
const client = () => openaiChat({ model: 'gpt-x', apiKey: 'none', baseUrl })

test('a text is streamed in pieces', async () => {
  const answer = await readAnswer(client(), says('Hello'))
  expect(answer).toMatchObject({ text: TEXT, finish: 'STOP', usage: null })
  expect(answer.chunks.length).toBeGreaterThan(5)
})

test.each([
  ['error-401', { code: 'MODEL_UNAUTHENTICATED', retryable: false }],
  ['error-429', { code: 'MODEL_RATE_LIMITED', retryable: true }],
])('%s, which it reports inside the stream, is classified', async (text, failure) => {
  await expect(readAnswer(client(), says(text))).rejects.toMatchObject({ failure })
})

test('it reads our instructions, tools and results', async () => {
  expect((await readAnswer(client(), sampleRequest())).text).toBe('It read: 21 °C')
})

test('a fault of it is a failure that may pass', async () => {
  const noContent = { streaming: CONFIG.streaming, rules: [rule('@', 200, { choices: [{ message: { tool_calls: [] } }] })] }
  await fetch(new URL('/config', baseUrl), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(noContent),
  })
  await expect(readAnswer(client(), says('Hello'))).rejects.toMatchObject({ failure: { code: 'MODEL_UNAVAILABLE', retryable: true } })
})

function rule(match: string, status: number, content: object) {
  return { path: '/v1/chat/completions', match, response: { status, content: JSON.stringify(content) } }
}

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port was given')
  return address.port
}

/** Reads on after that: a process whose output nobody takes any more ends. */
function untilPrinted({ stdout }: ChildProcess, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let printed = ''
    stdout?.setEncoding('utf8').on('data', (piece: string) => {
      printed += piece
      if (printed.includes(text)) resolve()
    })
    stdout?.on('close', () => reject(new Error(`the server ended with: ${printed}`)))
  })
}
