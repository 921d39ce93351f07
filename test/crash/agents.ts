/**
 * An agent whose model and tools leave traces outside of Perdure, and wait until the test lets them go. A message is a verb and the name of
 * the gate, a file, that its turn waits for: `charge a`.
 */
import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { askUser, defineAgent, defineTool, scripted, scriptedFailure, type Conversation, type Json, type ScriptedReply } from 'perdure'
import { z } from 'zod'

const folder = process.env['PERDURE_TEST_FOLDER'] ?? '.'
/** Told so, the process collects its garbage: the memory that it reports then is in use. */
process.on('SIGUSR2', () => {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc()')
})

const WORD_MS = 25
const GATE_MS = 20

/** How long the provider asks to wait: a wait that keeps the slot, and one that parks the turn, which any of more than 10 s does. */
export const LIMITED_MS = 8000
export const PARKED_MS = 10_100

function isOpen(gate: string): boolean {
  return existsSync(join(folder, `gate-${gate}`))
}

function note(file: string, ...words: readonly (string | number)[]): void {
  appendFileSync(join(folder, file), `${words.join(' ')}\n`)
}

function tool(name: string, options: { readonly idempotent: boolean; readonly waits: boolean }) {
  return defineTool({
    description: `Leaves a trace of ${name}.`,
    input: z.object({ gate: z.string() }),
    idempotent: options.idempotent,
    async execute({ gate }, { callId, signal }) {
      note('calls.log', name, callId, process.pid)
      while (options.waits && !isOpen(gate)) await wait(GATE_MS, undefined, { signal })
      return `${name} done`
    },
  })
}

/** Deaf to its signal. */
const stubborn = defineTool({
  description: 'Waits for its gate, whatever it is told.',
  input: z.object({ gate: z.string() }),
  async execute({ gate }, { callId }) {
    note('calls.log', 'stubborn', callId, process.pid)
    while (!isOpen(gate)) await wait(GATE_MS)
    return 'stubborn done'
  },
})

/** Waits for somebody's leave, then for its gate. */
const guarded = defineTool({
  description: 'Leaves a trace of guarded, with its arguments.',
  input: z.object({ gate: z.string(), euros: z.number().optional() }),
  approval: 'always',
  async execute({ gate, euros }, { callId, signal }) {
    note('calls.log', 'guarded', callId, process.pid)
    note('arguments.log', gate, euros ?? 'none')
    while (!isOpen(gate)) await wait(GATE_MS, undefined, { signal })
    return `guarded done for ${euros ?? 'nothing'}`
  },
})

/** Nothing until the gate opens. */
async function* think(gate: string, pause: (ms: number) => Promise<void>): AsyncGenerator<string> {
  while (!isOpen(gate)) await pause(WORD_MS)
  yield 'thought'
}

/** A word at a time until the gate opens. */
async function* tell(gate: string, pause: (ms: number) => Promise<void>): AsyncGenerator<string> {
  for (let count = 0; !isOpen(gate); count += 1) {
    yield `word${count} `
    await pause(WORD_MS)
  }
  yield 'the end'
}

/** The provider refuses the first call of this text, and no other. */
function refuseOnce(text: string, retryAfterMs: number): string {
  if (isOpen(`refused ${text}`)) return 'done after a wait'
  note(`gate-refused ${text}`)
  throw scriptedFailure('MODEL_RATE_LIMITED', { retryAfterMs })
}

function obey({ lastUserText, step, wait: pause }: Conversation): ScriptedReply {
  const [verb = '', gate = ''] = lastUserText.split(' ')
  note('models.log', process.pid, lastUserText)
  if (step > 0) return `done after step ${step}`
  const call = (name: string, more: { readonly [key: string]: Json } = {}) => ({ name, input: { gate, ...more } })
  switch (verb) {
    case 'story':
      return tell(gate, pause)
    case 'think':
      return think(gate, pause)
    case 'charge':
    case 'look':
    case 'stubborn':
      return { calls: [call(verb)] }
    case 'spend':
      return { calls: [call('quick', { padding: 'much '.repeat(100) })] }
    case 'guarded':
      return { calls: [call('guarded', { euros: 7 })] }
    case 'ask':
      return { calls: [{ name: 'ask_user', input: { question: `And ${gate}?`, options: [{ label: 'Yes' }, { label: 'No' }] } }] }
    case 'both':
      return { calls: [call('quick'), call('charge')] }
    case 'limited':
    case 'parked':
      return refuseOnce(lastUserText, verb === 'parked' ? PARKED_MS : LIMITED_MS)
    default:
      return `you said: ${lastUserText}`
  }
}

const tools = {
  quick: tool('quick', { idempotent: false, waits: false }),
  charge: tool('charge', { idempotent: false, waits: true }),
  look: tool('look', { idempotent: true, waits: true }),
  stubborn,
  guarded,
  ask_user: askUser(),
}

export default defineAgent({ name: 'crash', instructions: 'Do what the test says.', model: scripted(obey), tools })

/** `spend` uses up its budget at once; little else does. */
export const thrifty = defineAgent({
  name: 'thrifty',
  instructions: 'Do what the test says, once.',
  model: scripted(obey),
  tools,
  limits: { maxOutputTokensPerSession: 100 },
})
