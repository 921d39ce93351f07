/** A chat platform: whatever comes for one channel goes to the session that holds its address, which the first message creates. */
import { defineAgent, scripted } from 'perdure'
import { serve } from './serve.js'

const host = defineAgent({
  name: 'host',
  instructions: 'Greet everybody.',
  model: scripted(({ lastUserText }) => `Hello, you said "${lastUserText}".`),
})

const { client, stop } = await serve(host)

// Three messages at once for a channel that nobody serves yet: one session, and all three reach it.
const say = (text: string, idempotencyKey?: string) => client.agent('host').send(text, { address: 'slack:C042', idempotencyKey })
const turns = ['Good morning', 'Is anybody there?', 'Hello?'].map((text) => say(text))
const accepted = await Promise.all(turns.map((turn) => turn.accepted))
console.log(`sessions: ${new Set(accepted.map(({ session }) => session.id)).size}`)
for (const turn of turns) {
  const result = await turn.result()
  if (result.status === 'completed') console.log(`turn ${result.number}: ${result.text}`)
}

// A key makes repeating safe, also when the platform calls twice.
const again = await Promise.all([1, 2].map(() => say('Once only', 'slack-event-7').accepted))
console.log(`deliveries: ${new Set(again.map(({ delivery }) => delivery.id)).size}, repeated: ${again.some(({ duplicate }) => duplicate)}`)

// One conversation on two channels: what comes to either reaches the same session.
const { session: held } = await say('Follow me').accepted
await held.claimAddress('email:host@example.com')
const mailed = await client.agent('host').send('By mail', { address: 'email:host@example.com' }).accepted
console.log(`the same session: ${mailed.session.id === held.id}`)

// The address is free again once its session has ended: the next message begins a new one.
await again[0]?.session.end()
const { session } = await say('Good evening').accepted
console.log(`a new session: ${session.id !== accepted[0]?.session.id}`)

await stop()
