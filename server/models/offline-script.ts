/**
 * The script of a scripted model that was given none: it shows streaming, tools, approvals and recovery of any agent without a key.
 * A message that begins with a tool's name calls that tool, with the JSON that follows as its arguments; any other is echoed.
 */
import type { ModelTool } from '../session/model.js'
import type { Conversation, ScriptedReply } from './script.js'

export function echo({ lastUserText, toolResults, tools, step }: Conversation): ScriptedReply {
  if (step > 0)
    return toolResults.map((result) => `${result.name} ${result.isError ? 'failed' : 'answered'}: ${result.text}`).join('\n') || 'Done.'
  const call = toCall(lastUserText, tools)
  if (call !== null) return { text: `Calling ${call.name}.`, calls: [call] }
  const [first] = tools
  const hint = first === undefined ? '' : ` To see a tool run, begin a message with its name: ${first.name} {}`
  return `You said: ${lastUserText}\n\nThis is the offline model; set OPENAI_API_KEY for a real one.${hint}`
}

function toCall(text: string, tools: readonly ModelTool[]): { readonly name: string; readonly rawInput: string } | null {
  const [, name = '', rest = ''] = /^\s*([\w-]+)([\s\S]*)$/.exec(text) ?? []
  const tool = tools.find((candidate) => candidate.name === name)
  if (tool === undefined) return null
  const input = rest.trim()
  return { name, rawInput: isJson(input) ? input : '{}' }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
