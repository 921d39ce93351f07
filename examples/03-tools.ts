/** Tools: typed input, progress while they run, errors that the model reads, calls side by side. */
import { setTimeout as wait } from 'node:timers/promises'
import { defineAgent, defineTool, scripted } from 'perdure'
import { z } from 'zod'
import { serve } from './serve.js'

const weather = defineTool({
  description: 'The weather in a city, today.',
  input: z.object({ city: z.string().min(2) }),
  // It may run again after a crash: asking twice does no harm.
  idempotent: true,
  label: ({ city }) => `Looking out of the window in ${city}`,
  // Every yield is progress; what is returned is the result.
  async *execute({ city }, { signal }) {
    yield { city, status: 'asking the station' }
    await wait(100, undefined, { signal })
    if (city === 'Atlantis') throw new Error('there is no station in Atlantis')
    return { city, degrees: city.length * 3, sky: 'clear' }
  },
})

const guide = defineAgent({
  name: 'guide',
  instructions: 'Say what the weather is.',
  tools: { weather },
  model: scripted(({ step, lastUserText, toolResults }) =>
    step === 0
      ? { calls: lastUserText.split(' and ').map((city) => ({ name: 'weather', input: { city } })) }
      : toolResults.map(({ text, isError }) => (isError ? `No luck: ${text}.` : text)).join(' '),
  ),
})

const { client, stop } = await serve(guide)

const turn = client.agent('guide').send('Lisbon and Oslo and Atlantis and X')
for await (const event of turn) {
  if (event.type === 'TOOL_CALL_REQUESTED') console.log(`asked   ${event.label ?? event.name} ${event.inputError ?? ''}`)
  if (event.type === 'TOOL_CALL_PROGRESS') console.log(`running ${JSON.stringify(event.output)}`)
  if (event.type === 'TOOL_CALL_END') console.log(`ended   ${event.status} ${JSON.stringify(event.output ?? event.error?.message)}`)
}
const result = await turn.result()
if (result.status === 'completed') console.log(result.text)

await stop()
