/**
 * What a model asked for, checked against the agent's tools: may it run, and with what. A call that may not is kept and
 * refused; the model reads why, and the session goes on.
 */
import type { Failure, Json } from '../../errors.js'
import { closestName } from '../closest-name.js'
import type { CallId } from '../../ids.js'
import type { RequestedCall } from '../outcomes.js'
import type { ToolPort } from '../agent-port.js'
import type { Judge } from './judge-call.js'
import { shorten } from './shorten.js'
import { readMessage, toJson } from './to-json.js'

export interface AskedCall {
  readonly id: CallId
  readonly tools: ReadonlyMap<string, ToolPort>
  readonly name: string
  /** The arguments as the model wrote them. Empty means `{}`. */
  readonly rawInput: string
  /** Whether a valid call may run. */
  readonly judge: Judge
}

const MAX_MESSAGE_BYTES = 8 * 1024
const MAX_NAMES = 30

/** Never throws. */
export async function checkCall({ id, tools, name, rawInput, judge }: AskedCall): Promise<RequestedCall> {
  const parsed = parseInput(rawInput)
  const input = parsed.ok ? parsed.value : {}
  const tool = tools.get(name)
  const base = { id, name, label: null, input, rawInput: parsed.ok ? null : rawInput, ask: null }
  const bound = { idempotent: tool?.idempotent ?? false, sequential: tool?.sequential ?? false }
  if (tool === undefined) return { ...base, ...bound, refusal: toUnknown(name, tools) }
  const problem = parsed.ok ? await tool.check(input).catch(readMessage) : parsed.problem
  if (problem === null) return { ...base, ...bound, label: tool.label(input), ...(await judge(tool, { id, input })) }
  return {
    ...base,
    ...bound,
    refusal: toRefusal('TOOL_INPUT_INVALID', `The arguments of ${name} were refused and it did not run: ${problem}`),
  }
}

type ParsedInput = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly problem: string }

function parseInput(rawInput: string): ParsedInput {
  if (rawInput.trim() === '') return { ok: true, value: {} }
  try {
    const converted = toJson(JSON.parse(rawInput))
    return converted.ok ? converted : { ok: false, problem: `${converted.path} ${converted.problem}`.trim() }
  } catch (thrown) {
    return { ok: false, problem: `they are not valid JSON (${readMessage(thrown)}); write one JSON object` }
  }
}

function toUnknown(name: string, tools: ReadonlyMap<string, ToolPort>): Failure {
  const closest = closestName(name, tools.keys())
  const names = [...tools.keys()]
  const more = names.length > MAX_NAMES ? `, and ${String(names.length - MAX_NAMES)} more` : ''
  const known = names.length === 0 ? 'There are no tools here.' : `The tools are: ${names.slice(0, MAX_NAMES).join(', ')}${more}.`
  const meant = closest === null ? '' : ` Did you mean ${closest}?`
  return toRefusal('TOOL_UNKNOWN', `There is no tool ${JSON.stringify(name)}.${meant} ${known}`)
}

function toRefusal(code: string, message: string): Failure {
  return { code, message: shorten(message, MAX_MESSAGE_BYTES).text, retryable: false }
}
