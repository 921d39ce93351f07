/** Corrections: a message while the agent works joins the turn; with QUEUE it waits; a clear begins anew. */
import { setTimeout as wait } from 'node:timers/promises'
import { defineAgent, defineTool, scripted } from 'perdure'
import { z } from 'zod'
import { serve } from './serve.js'

const search = defineTool({
  description: 'Searches for flights.',
  input: z.object({ to: z.string() }),
  idempotent: true,
  async execute({ to }, { signal }) {
    await wait(200, undefined, { signal })
    return `three flights to ${to}`
  },
})

const travel = defineAgent({
  name: 'travel',
  instructions: 'Find flights.',
  tools: { search },
  // Searches once for every city that was named, and not again for one that it has a result of.
  model: scripted(({ history }) => {
    const cities = history.flatMap((item) => (item.role === 'user' ? [item.text.split(' ').at(-1) ?? ''] : []))
    const found = history.flatMap((item) => (item.role === 'tool' ? [item.text] : []))
    const city = cities.at(found.length)
    return city === undefined ? `Found ${found.join(', and ')}.` : { calls: [{ name: 'search', input: { to: city } }] }
  }),
})

const { client, stop } = await serve(travel)

const first = client.agent('travel').send('Book me a flight to Lisbon')
const { session } = await first.accepted

// The tool runs: it finishes, and the model reads its result together with the correction. Same turn, one answer.
for await (const event of first) if (event.type === 'TOOL_CALL_START') break
const correction = session.send('Sorry, I meant Porto')
const queued = session.send('And then one to Madrid', { turnPolicy: 'QUEUE' })

for (const turn of [first, correction, queued]) {
  const result = await turn.result()
  if (result.status === 'completed') console.log(`turn ${result.number}: ${result.text}`)
}

await session.clear()
const anew = await session.send('A flight to Oslo').result()
if (anew.status === 'completed') console.log(`turn ${anew.number}: ${anew.text}`)

await stop()
