/**
 * Whether a valid call may run: asked of its tool before it is recorded, with the answer of the model. A policy that fails is no leave:
 * the call does not run.
 */
import type { Json } from '../../errors.js'
import type { CallId } from '../../ids.js'
import type { ApprovalContext, ToolPort } from '../agent-port.js'
import { deniedByPolicy } from '../failures.js'
import type { RequestedCall } from '../outcomes.js'
import { readMessage } from './to-json.js'

export interface JudgedCall {
  readonly id: CallId
  readonly input: Json
}
export type Judgement = Pick<RequestedCall, 'refusal' | 'ask'>
/** Never throws. */
export type Judge = (tool: ToolPort, call: JudgedCall) => Promise<Judgement>

const ALLOWED: Judgement = { refusal: null, ask: null }

/** `contextOf` is asked only for tools that have a policy. */
export function createJudge(contextOf: (tool: ToolPort, call: JudgedCall) => ApprovalContext): Judge {
  return async (tool, call) => {
    if (tool.question !== undefined) return askQuestion(tool.question, call)
    if (tool.approval === undefined) return ALLOWED
    const context = contextOf(tool, call)
    try {
      const verdict = await tool.approval(context)
      if (verdict.kind === 'allow') return ALLOWED
      return verdict.kind === 'deny' ? { refusal: deniedByPolicy(verdict.reason), ask: null } : { refusal: null, ask: verdict.request }
    } catch (thrown) {
      context.log.error(`the approval policy of ${tool.name} failed; the call is not run`, { err: thrown })
      return { refusal: deniedByPolicy('its approval policy failed'), ask: null }
    }
  }
}

function askQuestion(question: NonNullable<ToolPort['question']>, { input }: JudgedCall): Judgement {
  try {
    return { refusal: null, ask: question(input) }
  } catch (thrown) {
    return { refusal: { code: 'TOOL_INPUT_INVALID', message: readMessage(thrown), retryable: false }, ask: null }
  }
}
