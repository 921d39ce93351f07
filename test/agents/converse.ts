/** One turn with an agent, without an engine: its model is called and its tools run until it asks for none. */
import { systemClock } from '../../server/clock.js'
import { createIdSource } from '../../server/ids.js'
import type { HistoryItem } from '../../server/session/history.js'
import type { ModelClient } from '../../server/session/model.js'
import type { AgentPort } from '../../server/session/agent-port.js'
import type { RequestedCall } from '../../server/session/outcomes.js'
import { checkCall } from '../../server/session/perform/check-call.js'
import type { Judge } from '../../server/session/perform/judge-call.js'
import { runTool } from '../../server/session/perform/run-tool.js'
import { createContext } from './tool-run.js'

export interface Turn {
  readonly text: string
  /** The calls of each step. */
  readonly steps: readonly (readonly RequestedCall[])[]
}

/** Whatever is asked for may run. */
const judge: Judge = async () => ({ refusal: null, ask: null })

export async function converse(agent: AgentPort, message: string): Promise<Turn> {
  const ids = createIdSource()
  const { signal } = new AbortController()
  const steps: RequestedCall[][] = []
  let history: readonly HistoryItem[] = [{ role: 'user', text: message }]
  for (;;) {
    const { text, asked } = await answerOf(agent.model, history)
    if (asked.length === 0) return { text, steps }
    const calls = await Promise.all(asked.map((call) => checkCall({ id: ids.next('call'), tools: agent.tools, judge, ...call })))
    steps.push(calls)
    history = [...history, { role: 'assistant', text, calls, interrupted: false }]
    for (const call of calls) {
      const tool = agent.tools.get(call.name)
      if (tool === undefined || call.refusal !== null) throw new Error(`${call.name} was refused: ${call.refusal?.message ?? ''}`)
      const ended = await runTool({ tool, call, context: createContext(signal), clock: systemClock, progress: () => undefined })
      history = [
        ...history,
        { role: 'tool', callId: call.id, name: call.name, text: ended.result.text, isError: ended.status !== 'COMPLETED' },
      ]
    }
  }
}

async function answerOf(
  model: ModelClient,
  history: readonly HistoryItem[],
): Promise<{ text: string; asked: { name: string; rawInput: string }[] }> {
  const calls = new Map<string, { name: string; rawInput: string }>()
  let text = ''
  const request = { instructions: '', history, tools: [], cacheKey: 'test' }
  for await (const chunk of model.stream(request, { signal: new AbortController().signal })) {
    if (chunk.type === 'text') text += chunk.text
    if (chunk.type === 'tool-input') {
      const call = calls.get(chunk.key) ?? { name: chunk.name, rawInput: '' }
      calls.set(chunk.key, { ...call, rawInput: call.rawInput + chunk.text })
    }
  }
  return { text, asked: [...calls.values()] }
}
