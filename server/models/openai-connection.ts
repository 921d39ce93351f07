/** What both OpenAI protocols share: their options, and the client of the `openai` package, set up so that nothing is retried or logged. */
import OpenAI from 'openai'
import { systemClock, type Clock } from '../clock.js'
import { PerdureError } from '../errors.js'
import type { Provider } from './classify-error.js'

export const OPENAI_BASE_URL = 'https://api.openai.com/v1'
const DEFAULT_IDLE_TIMEOUT_MS = 120_000
/** The longest delay of a timer: the package's own timeout is put out of the way of ours. */
const NEVER_MS = 2 ** 31 - 1

export interface OpenAiOptions {
  readonly model: string
  /** Sent as a bearer token. A compatible server that needs none takes any text, e.g. `none`. */
  readonly apiKey: string
  /** Up to and with `/v1`. Default: OpenAI's own. */
  readonly baseUrl?: string
  /** Default: Node's own, which keeps connections alive. */
  readonly fetch?: typeof fetch
  /** The longest answer, reasoning included, in tokens. Default: the model's own limit. */
  readonly maxOutputTokens?: number
  /** How much the model thinks before it answers; only for models that reason. Default: the model's own. */
  readonly reasoningEffort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh'
  /**
   * Silence after which a call is given up as MODEL_UNAVAILABLE, in milliseconds. Default: 120 000. Node's own fetch ends a silent
   * response after 300 000.
   */
  readonly idleTimeoutMs?: number
  /** What is shown and recorded. Default: `openai/<model>`. */
  readonly name?: string
  readonly clock?: Clock
}

export interface Connection {
  readonly client: OpenAI
  readonly provider: Provider
  /** OpenAI itself, which knows every parameter; a compatible server may refuse those it does not know. */
  readonly isOpenAi: boolean
  readonly idleTimeoutMs: number
  readonly clock: Clock
}

/** Opens nothing yet. Throws PerdureError when the base URL cannot be one. */
export function connect(options: OpenAiOptions): Connection {
  const baseUrl = options.baseUrl ?? OPENAI_BASE_URL
  const { host } = parseBaseUrl(baseUrl)
  const isOpenAi = isOpenAiHost(host)
  return {
    client: new OpenAI({
      apiKey: options.apiKey,
      baseURL: baseUrl,
      maxRetries: 0,
      timeout: NEVER_MS,
      logLevel: 'off',
      organization: null,
      project: null,
      adminAPIKey: null,
      webhookSecret: null,
      ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
    }),
    provider: { name: isOpenAi ? 'OpenAI' : host, host, model: options.model, apiKey: options.apiKey },
    isOpenAi,
    idleTimeoutMs: options.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS,
    clock: options.clock ?? systemClock,
  }
}

/** True for OpenAI's own hosts, the regional ones included. */
export function isOpenAiHost(host: string): boolean {
  return host === 'api.openai.com' || host.endsWith('.api.openai.com')
}

/** Throws PerdureError for what is not an http(s) URL. */
export function parseBaseUrl(baseUrl: string): URL {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:')) return url
  throw new PerdureError('MODEL_NOT_CONFIGURED', `The base URL "${baseUrl}" of the model is not an http or https URL.`, {
    hint: 'OPENAI_BASE_URL=http://localhost:11434/v1',
  })
}
