/** Findings of a review: each fails until it is mended. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createClient } from '../../sdk/client.js'
import { defineAgent } from '../../server/agents/define-agent.js'
import { defineTool } from '../../server/agents/define-tool.js'
import { createPerdure } from '../../server/compose.js'
import { scripted } from '../../server/models/scripted.js'
import { loadConfig } from '../../server/config.js'

const script = scripted(async function* ({ lastUserText }) {
  if (lastUserText === 'slow') return yield { type: 'tool-input', key: 'a', name: 'slow', text: '{}' }
  for (let i = 0; i < 3000; i += 1) yield { type: 'text', key: `k${i}`, text: 'x' }
  yield { type: 'finish', reason: 'STOP' }
} as never)

for (const follow of [false, true])
  test(`a replay that a stopping server cuts short is not taken for the whole log (follow: ${follow})`, async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'rev-'))
    const tools = { slow: defineTool({ description: 'x', input: { type: 'object' }, execute: () => new Promise<string>((resolve) => setTimeout(() => resolve('done'), 4000)) }) }
    const agents = [defineAgent({ name: 'many', model: script, instructions: 'x', tools })]
    const config = { ...loadConfig({ env: {} }), dataDir, port: 0, databaseUrl: null, logLevel: 'error' as const }
    const first = await createPerdure({ agents, config })
    const { url } = await first.listen()
    const client = createClient({ url: `${url}/graphql` })
    const turn = client.agent('many').send('many')
    const session = (await turn.accepted).session
    const result = await turn.result()
    expect(result.status).toBe('completed')
    await session.end()
    let all = 0
    for await (const event of session.events()) all += event === null ? 0 : 1
    await client.agent('many').send('slow').accepted // the stop waits for this one's tool
    await new Promise((resolve) => setTimeout(resolve, 100))
    let seen = 0
    let failure: unknown = null
    let second: Awaited<ReturnType<typeof createPerdure>> | null = null
    const port = Number(new URL(url).port)
    try {
      for await (const batch of session.batches({ follow, maxReconnects: 20 })) {
        if (seen === 0) void first.stop().then(async () => {
          second = await createPerdure({ agents, config: { ...config, port } })
          await second.listen()
        })
        seen += batch.events.length
      }
    } catch (thrown) {
      failure = thrown
    }
    await first.stop()
    await new Promise((resolve) => setTimeout(resolve, 3000))
    await second?.stop()
    await rm(dataDir, { recursive: true, force: true })
    console.log({ all, seen, failure })
    expect({ seen, failure }).toEqual({ seen: all, failure: null })
  }, 60_000)
