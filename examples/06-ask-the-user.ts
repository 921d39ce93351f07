/** Questions: the agent asks, the turn waits for as long as it takes, and the answer is the tool's result. */
import { askUser, defineAgent, scripted } from 'perdure'
import { serve } from './serve.js'

const WOODS = [{ label: 'Oak' }, { label: 'Walnut' }, { label: 'Painted', description: 'Say which colour.' }]

const furniture = defineAgent({
  name: 'furniture',
  instructions: 'Take the order. Ask for what you do not know.',
  // The model asks with it, as with any other tool: a question, options, whether words of one's own are an answer too.
  tools: { ask_user: askUser() },
  model: scripted(({ step, toolResults }) => {
    const heard = toolResults[0]?.text ?? ''
    if (step === 0) return { calls: [{ name: 'ask_user', input: { question: 'Which wood?', options: WOODS, allow_text: true } }] }
    if (step === 1) return { text: `Noted: ${heard}.`, calls: [{ name: 'ask_user', input: { question: 'And when may we come?' } }] }
    return `Ordered. We come as you say: ${heard}`
  }),
})

const { client, stop } = await serve(furniture)

const turn = client.agent('furniture').send('A table, please')
const { session } = await turn.accepted

// The turn waits; nothing runs, and nothing is lost when the server stops now.
const first = await turn.result()
if (first.status !== 'waiting') throw new Error(`the turn does not wait, but is ${first.status}`)
for (const { prompt, options } of first.requests) console.log(`asked:  ${prompt} ${options.map(({ label }) => label).join(', ')}`)

// An option, or words where the question takes them. By its id, from another process: session.respond([{ requestId, optionIds: [...] }]).
await first.requests[0]?.answer('Walnut')

// The same turn goes on, to its next question.
const second = await turn.result()
if (second.status === 'waiting') console.log(`${second.text}\nasked:  ${second.requests[0]?.prompt ?? ''}`)

// Who is in a chat just says it: a plain message answers what is open.
const reply = await session.send('Monday, before noon').result()
if (reply.status === 'completed') console.log(`turn ${reply.number}: ${reply.text}`)

// Who answered what stays on record.
for await (const { prompt, acceptedAnswer } of session.requests({ status: 'ANSWERED' })) {
  console.log(`record: ${prompt} answered by ${acceptedAnswer?.by.id ?? ''}`)
}

await stop()
