/** A session: create it, send, wait for the answer, read it again later. */
import { defineAgent, scripted } from 'perdure'
import { serve } from './serve.js'

const parrot = defineAgent({
  name: 'parrot',
  instructions: 'Repeat what you are told.',
  model: scripted(({ lastUserText, userMessages }) => `You said "${lastUserText}", and that was message ${String(userMessages)}.`),
})

const { client, stop } = await serve(parrot)

const session = await client.sessions.create({ agent: 'parrot', title: 'My first session' })
console.log(`${session.id} is ${session.info.status}`)

const first = await session.send('hello').result()
if (first.status === 'completed') console.log(`turn ${String(first.number)}: ${first.text}`)

const second = await session.send('hello again').result()
if (second.status === 'completed') console.log(`turn ${String(second.number)}: ${second.text}`)

// The session is data: any process, today or in a month, finds it by its id.
for (const { role, text } of (await client.session(session.id).transcript()) ?? []) console.log(`  ${role.toLowerCase()}: ${text}`)

await session.end({ reason: 'the example is over' })
console.log(`${session.id} is ${(await session.get())?.status ?? 'gone'}`)
await stop()
