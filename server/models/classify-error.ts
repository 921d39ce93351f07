/**
 * What went wrong at a provider, classified once: a failure code, whether trying again can help, how long the provider asks to wait,
 * and a sentence that names the provider, the cause and the mend. A key never appears in it, but for its last three characters.
 */
import { APIConnectionError, APIConnectionTimeoutError, APIError } from 'openai'
import { toMessage, type Json } from '../errors.js'
import { ModelError } from '../session/model.js'
import { isRecord, numberAt, recordAt, textAt, type JsonRecord } from './loose-json.js'
import { retryAfterMs } from './retry-after.js'

/** Whom we called, as messages name it. */
export interface Provider {
  readonly name: string
  readonly host: string
  readonly model: string
  readonly apiKey: string
}

/** An error that a provider reported inside a stream that had begun well. */
export class ReportedError extends Error {
  readonly report: JsonRecord

  constructor(report: JsonRecord) {
    super(textAt(report, 'message'))
    this.name = 'ReportedError'
    this.report = report
  }
}

interface Report {
  readonly status: number | null
  readonly code: string
  readonly type: string
  readonly message: string
}
interface Rule {
  readonly code: string
  readonly retryable: boolean
  matches(report: Report): boolean
  /** `cause` is the provider's own status, code and sentence. */
  message(provider: Provider, cause: string, report: Report): string
}

const OVERFLOW_CODES = new Set(['context_length_exceeded', 'exceed_context_size_error', 'string_above_max_length'])
const OVERFLOW_WORDS = /maximum context length|context (length|window|size)|(prompt|input) is too long|too many (input |prompt )?tokens/i
const FILTER_CODES = new Set([
  'content_filter',
  'content_policy_violation',
  'invalid_prompt',
  'bio_policy',
  'image_content_policy_violation',
])
const QUOTA_CODES = new Set(['insufficient_quota', 'billing_hard_limit_reached', 'billing_not_active'])
const KEY_CODES = new Set(['invalid_api_key', 'authentication_error', 'permission_error', 'account_deactivated'])
const PASSING_STATUS = new Set([408, 409, 425])
const LIMIT_WORDS = /rate_limit|too_many_requests/
const WRONG_WORDS = /invalid_request|not_found|invalid_|unsupported_/

/** The first rule that matches counts. */
const RULES: readonly Rule[] = [
  {
    code: 'CONTEXT_OVERFLOW',
    retryable: false,
    matches: (it) =>
      OVERFLOW_CODES.has(it.code) ||
      OVERFLOW_CODES.has(it.type) ||
      it.status === 413 ||
      (it.status !== 429 && OVERFLOW_WORDS.test(it.message)),
    message: (provider, cause) =>
      `The conversation does not fit the context window of ${provider.model} at ${provider.name} (${cause}); compact or clear the session, or use a model with a larger window`,
  },
  {
    code: 'MODEL_CONTENT_FILTERED',
    retryable: false,
    matches: (it) => FILTER_CODES.has(it.code),
    message: (provider, cause) => `The content filter of ${provider.name} refused the request (${cause}); rephrase the message`,
  },
  {
    code: 'MODEL_RATE_LIMITED',
    retryable: false,
    matches: (it) => QUOTA_CODES.has(it.code) || QUOTA_CODES.has(it.type) || it.status === 402,
    message: (provider, cause) =>
      `The quota of the ${provider.name} account is used up (${cause}); add credit or raise its limit, then send the message again`,
  },
  {
    code: 'MODEL_UNAUTHENTICATED',
    retryable: false,
    matches: (it) => it.status === 401 || it.status === 403 || KEY_CODES.has(it.code) || KEY_CODES.has(it.type),
    message: refusedKey,
  },
  {
    code: 'MODEL_RATE_LIMITED',
    retryable: true,
    matches: (it) => it.status === 429 || LIMIT_WORDS.test(it.code) || LIMIT_WORDS.test(it.type),
    message: (provider, cause) =>
      `${provider.name} limits the rate of calls to ${provider.model} (${cause}); wait, or raise the account's limit`,
  },
  {
    code: 'MODEL_UNAVAILABLE',
    retryable: true,
    matches: (it) => isPassing(it),
    message: (provider, cause) => `${provider.name} could not answer (${cause}); try again, and look at the provider's status if it lasts`,
  },
  {
    code: 'MODEL_INVALID_REQUEST',
    retryable: false,
    matches: () => true,
    message: (provider, cause, report) =>
      `${provider.name} refused the request for ${provider.model} (${cause}); check ${report.status === 404 ? 'the model name and the base URL' : 'the model name, its options and the schemas of the tools'}`,
  },
]

/** Turns whatever a call threw into a ModelError. `now`: wall clock, for a `Retry-After` that is a date. */
export function classifyError(thrown: unknown, provider: Provider, now: number): ModelError {
  if (thrown instanceof ModelError) return thrown
  if (thrown instanceof ReportedError) return fromReport(toReport(thrown.report), provider, { cause: thrown })
  if (thrown instanceof APIConnectionTimeoutError) {
    return unavailable(provider, `${placeOf(provider)} did not answer in time; check the network`, thrown)
  }
  if (thrown instanceof APIConnectionError) {
    return unavailable(provider, `Can't reach ${placeOf(provider)} (${networkCause(thrown)}); check the network and the base URL`, thrown)
  }
  if (isApiError(thrown)) return fromApiError(thrown, provider, now)
  const cause = thrown instanceof TypeError ? networkCause(thrown) : toMessage(thrown)
  return unavailable(provider, `The answer of ${placeOf(provider)} broke off (${cause}); try again`, thrown)
}

/** `OpenAI at api.openai.com`; a compatible server goes by its host alone. */
export function placeOf({ name, host }: Provider): string {
  return name === host ? host : `${name} at ${host}`
}

/** The failure of a call that may go well the next time. */
export function unavailable(provider: Provider, message: string, cause?: unknown): ModelError {
  return new ModelError(
    { code: 'MODEL_UNAVAILABLE', message, retryable: true, details: { host: provider.host, model: provider.model } },
    { cause },
  )
}

function isApiError(thrown: unknown): thrown is APIError {
  return thrown instanceof APIError
}

function fromApiError(error: APIError, provider: Provider, now: number): ModelError {
  const body: JsonRecord = isRecord(error.error) ? error.error : {}
  const report = { ...toReport(body), status: error.status ?? null }
  const headers = error.headers
  const spoken = report.message === '' ? withoutStatus(error.message) : report.message
  return fromReport({ ...report, message: spoken }, provider, {
    cause: error,
    retryAfterMs: headers === undefined ? null : retryAfterMs(headers, now),
    final: headers?.get('x-should-retry') === 'false',
    requestId: error.requestID ?? null,
  })
}

interface Circumstances {
  readonly cause: unknown
  readonly retryAfterMs?: number | null
  /** The provider says itself that trying again is of no use. */
  readonly final?: boolean
  readonly requestId?: string | null
}

function fromReport(report: Report, provider: Provider, circumstances: Circumstances): ModelError {
  const rule = RULES.find((candidate) => candidate.matches(report))
  if (rule === undefined) return unavailable(provider, `${provider.name} failed`, circumstances.cause)
  const details: Record<string, Json> = { host: provider.host, model: provider.model }
  if (report.status !== null) details['status'] = report.status
  if (report.code !== '') details['providerCode'] = report.code
  if (typeof circumstances.requestId === 'string') details['requestId'] = circumstances.requestId
  const failure = {
    code: rule.code,
    message: rule.message(provider, toCause(report, provider.apiKey), report),
    retryable: rule.retryable && circumstances.final !== true,
    details,
  }
  return new ModelError(failure, { retryAfterMs: circumstances.retryAfterMs ?? null, cause: circumstances.cause })
}

/** Providers put an HTTP status into `code` as a number, and what matters into a nested `error` or beside it. */
function toReport(report: JsonRecord): Report {
  const nested = recordAt(report, 'error') ?? report
  return {
    status: numberAt(nested, 'code') ?? numberAt(nested, 'status'),
    code: textAt(nested, 'code'),
    type: textAt(nested, 'type'),
    message: textAt(nested, 'message'),
  }
}

function isPassing({ status, code, type }: Report): boolean {
  if (status !== null) return status >= 500 || status < 400 || PASSING_STATUS.has(status)
  return !WRONG_WORDS.test(code) && !WRONG_WORDS.test(type)
}

function refusedKey(provider: Provider, _cause: string, report: Report): string {
  const code = [report.status, report.code].filter((part) => part !== null && part !== '').join(' ')
  if (report.status === 403)
    return `${provider.name} does not let the key ${keyEnding(provider.apiKey)} use ${provider.model} (${code}); check the rights of its project`
  return `${provider.name} refused the key ${keyEnding(provider.apiKey)} (${code}); check OPENAI_API_KEY`
}

/** Three characters of a key are enough to tell which one it was; a key too short to be one shows none. */
function keyEnding(key: string): string {
  return key.length < 12 ? '(a placeholder)' : `ending …${key.slice(-3)}`
}

const MAX_CAUSE_LENGTH = 300

function toCause(report: Report, apiKey: string): string {
  const head = [report.status, report.code === '' ? report.type : report.code].filter((part) => part !== null && part !== '').join(' ')
  const text = redact(report.message, apiKey).slice(0, MAX_CAUSE_LENGTH)
  if (head === '') return text === '' ? 'no reason given' : text
  return text === '' ? head : `${head}: ${text}`
}

function redact(text: string, apiKey: string): string {
  const known = apiKey.length < 12 ? text : text.replaceAll(apiKey, `…${apiKey.slice(-3)}`)
  return known.replace(/\bsk-[\w*-]{6,}(?=[\w*-]{3})/g, '…')
}

/** `openai` puts the status in front of its messages, which we name already; a page of HTML says nothing. */
function withoutStatus(message: string): string {
  const text = message.replace(/^\d{3} /, '')
  return text.startsWith('status code') || /^\s*</.test(text) ? '' : text
}

/** A failed fetch is a TypeError that says "fetch failed" or "terminated"; the reason is in the innermost cause. */
function networkCause(thrown: unknown): string {
  let innermost = thrown
  for (let depth = 0; depth < 5 && innermost instanceof Error && innermost.cause !== undefined; depth += 1) innermost = innermost.cause
  const message = toMessage(innermost)
  if (message !== '') return message
  return isRecord(innermost) ? textAt(innermost, 'code') : 'unknown cause'
}
