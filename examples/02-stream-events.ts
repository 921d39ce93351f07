/** Events: every token as it comes, and the same log again from any cursor. */
import { defineAgent, scripted } from 'perdure'
import { serve } from './serve.js'

const poet = defineAgent({
  name: 'poet',
  instructions: 'Answer in one line.',
  model: scripted(() => ({
    reasoning: 'Something about the sea.',
    text: 'The tide writes, the tide erases, the ledger stays.',
    delayMs: 40,
  })),
})

const { client, stop } = await serve(poet)

// A turn can be awaited or iterated: each event of it, from its acceptance to its end.
const turn = client.agent('poet').send('A line, please.')
for await (const event of turn) {
  switch (event.type) {
    case 'LLM_CHUNK':
      process.stdout.write(event.text)
      break
    case 'TURN_COMPLETED':
      console.log(`\n(${String(event.usage.completionTokens)} tokens in ${String(event.latencyMs)} ms)`)
      break
    default:
  }
}

// The log of the session: numbered without holes, readable from any position, as often as you like.
const { session } = await turn.accepted
const types: string[] = []
for await (const event of session.events({ after: '0', follow: false })) types.push(event.type)
console.log(types.filter((type, index) => type !== types[index - 1]).join(' → '))

await stop()
