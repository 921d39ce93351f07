/** A tool with which the model asks a person, and reads the answer as its result. */
import { PerdureError, type Json } from '../errors.js'
import type { RequestOption, RequestSpec } from '../session/requests.js'
import { readAsk, toReviewer } from './approval.js'
import { isRecord, refuseUnknownOptions } from './loose-options.js'
import { toSchema, type JsonSchema, type Schema } from './schema.js'
import { toTool, type Tool } from './tool.js'

export interface AskUserOptions {
  /** For the model: when to ask. */
  readonly description?: string
  /** How long a question waits, milliseconds; then the model reads that nobody answered. Default: for as long as the turn is open. */
  readonly expiresAfterMs?: number
  /** Who may answer: ids of principals, `role:x`, `scope:x`. Default: whom the turn serves. */
  readonly reviewers?: readonly string[]
}

const MAX_OPTIONS = 50
const DESCRIPTION =
  'Asks the person a question and waits for the answer, however long it takes. Use it when you cannot go on without knowing. Give options when the answer is one of a few.'

interface Asked {
  readonly question: string
  readonly options?: readonly { readonly label: string; readonly description?: string }[]
  readonly multiple?: boolean
  readonly allow_text?: boolean
}

const OPTION: JsonSchema = {
  type: 'object',
  properties: { label: { type: 'string', minLength: 1 }, description: { type: 'string' } },
  required: ['label'],
  additionalProperties: false,
}
const INPUT: JsonSchema = {
  type: 'object',
  properties: {
    question: { type: 'string', minLength: 1, description: 'What the person reads.' },
    options: { type: 'array', items: OPTION, maxItems: MAX_OPTIONS, description: 'What to choose from. Without: an answer in words.' },
    multiple: { type: 'boolean', description: 'Whether several options may be chosen.' },
    allow_text: { type: 'boolean', description: 'Whether words of their own are an answer too, beside the options.' },
  },
  required: ['question'],
  additionalProperties: false,
}

/**
 * Makes the tool: `tools: { ask_user: askUser() }`. Its call waits as a request of kind QUESTION. The result is `{ selected: [labels] }`,
 * `{ text }` or `{ json }`.
 */
export function askUser(options: AskUserOptions = {}): Tool<Asked> {
  return toTool<Asked, unknown>((owner) => {
    const refuse = (problem: string): never => {
      throw new PerdureError('TOOL_INVALID', `${owner}: ${problem}`)
    }
    checkOptions(options, refuse)
    const made = toSchema<Asked>(INPUT, 'input')
    if (!made.ok) return refuse(made.refused)
    const { schema } = made
    return {
      description: options.description ?? DESCRIPTION,
      kind: 'BUILT_IN',
      inputSchema: schema.json,
      outputSchema: null,
      idempotent: true,
      sequential: false,
      policy: null,
      approvalKind: 'NEVER',
      label: (value) => toQuestion(schema, value)?.question ?? null,
      check: async (value) => {
        const parsed = await schema.parse(value)
        return parsed.ok ? null : parsed.problem
      },
      question: (value) => toRequest(toQuestion(schema, value), options),
      run: () => Promise.reject(new PerdureError('INTERNAL', 'a question is answered by a person, not run')),
    }
  })
}

function checkOptions(options: AskUserOptions, refuse: (problem: string) => never): void {
  if (!isRecord(options)) refuse('give askUser one object, or nothing')
  refuseUnknownOptions(options, ['description', 'expiresAfterMs', 'reviewers'], refuse)
  readAsk({ expiresAfterMs: options.expiresAfterMs, reviewers: options.reviewers }, refuse)
}

function toQuestion(schema: Schema<Asked>, value: Json): Asked | null {
  const parsed = schema.parse(value)
  return !(parsed instanceof Promise) && parsed.ok ? parsed.value : null
}

function toRequest(asked: Asked | null, { expiresAfterMs, reviewers }: AskUserOptions): RequestSpec {
  if (asked === null) throw new PerdureError('TOOL_INPUT_INVALID', 'the arguments ask nothing')
  const options = (asked.options ?? []).map(({ label, description }, index): RequestOption => ({
    id: `option-${index + 1}`,
    label,
    description: description ?? null,
  }))
  return {
    kind: 'QUESTION',
    prompt: asked.question,
    options,
    minSelections: options.length === 0 ? 0 : 1,
    maxSelections: asked.multiple === true ? options.length : Math.min(1, options.length),
    allowsText: options.length === 0 || asked.allow_text === true,
    reviewers: (reviewers ?? []).map(toReviewer),
    expiresAfterMs: expiresAfterMs ?? null,
    onExpire: 'DENY',
    grants: false,
    url: null,
  }
}
