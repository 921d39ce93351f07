/** From the model of an agent, as its author wrote it, to a client. */
import { PerdureError } from '../errors.js'
import type { ModelClient } from '../session/model.js'
import { openaiChat } from './openai-chat.js'
import { isOpenAiHost, parseBaseUrl } from './openai-connection.js'
import { openaiResponses } from './openai-responses.js'
import { scripted } from './scripted.js'

export interface ModelSettings {
  readonly openaiApiKey: string | undefined
  /** Another server that speaks OpenAI's protocol. It may need no key. */
  readonly openaiBaseUrl: string | undefined
  /** What `openai` without a model name means. */
  readonly openaiModel?: string | undefined
  /** Who asks: errors name it. */
  readonly agent?: string
}

const PROVIDERS = ['openai', 'openai-chat', 'openai-responses', 'scripted'] as const

/**
 * A client is taken as it is. A string is `provider/model`:
 * - `openai/gpt-5`: Responses at OpenAI; Chat Completions at any other base URL, as compatible servers rarely have Responses
 * - `openai-chat/…`, `openai-responses/…`: that protocol, wherever the base URL points
 * - `openai`: the same with the model of the settings
 * - `scripted`: the offline model
 *
 * Connects to nothing. Throws PerdureError MODEL_NOT_CONFIGURED for an unknown provider, a missing model name or a missing key.
 */
export function resolveModel(spec: string | ModelClient, settings: ModelSettings): ModelClient {
  if (typeof spec !== 'string') return spec
  const slash = spec.indexOf('/')
  const provider = slash === -1 ? spec : spec.slice(0, slash)
  const model = slash === -1 ? settings.openaiModel : spec.slice(slash + 1)
  if (!isProvider(provider)) {
    throw notConfigured(
      `${who(settings)} wants ${spec}, but there is no provider "${provider}"; providers here: ${PROVIDERS.join(', ')}.`,
      'openai/gpt-5',
    )
  }
  if (provider === 'scripted') return scripted()
  if (model === undefined || model === '') {
    throw notConfigured(
      `${who(settings)} wants ${spec}, which names no model; write ${provider}/<model>, or set OPENAI_MODEL.`,
      `${provider}/gpt-5`,
    )
  }
  return openaiModel(provider, model, settings)
}

function openaiModel(provider: Exclude<Provider, 'scripted'>, model: string, settings: ModelSettings): ModelClient {
  const baseUrl = settings.openaiBaseUrl === '' ? undefined : settings.openaiBaseUrl
  const isOpenAi = baseUrl === undefined || isOpenAiHost(parseBaseUrl(baseUrl).host)
  const name = `${provider}/${model}`
  const key = settings.openaiApiKey === '' ? undefined : settings.openaiApiKey
  if (key === undefined && isOpenAi) {
    throw notConfigured(
      `${who(settings)} wants ${name}, but OPENAI_API_KEY is not set. Set it, or use model: scripted() to stay offline.`,
      'echo OPENAI_API_KEY=sk-… >> .env',
    )
  }
  const options = { model, name, apiKey: key ?? 'none', ...(baseUrl === undefined ? {} : { baseUrl }) }
  const isChat = provider === 'openai-chat' || (provider === 'openai' && !isOpenAi)
  return isChat ? openaiChat(options) : openaiResponses(options)
}

type Provider = (typeof PROVIDERS)[number]

function isProvider(name: string): name is Provider {
  return PROVIDERS.some((provider) => provider === name)
}

function who({ agent }: ModelSettings): string {
  return agent === undefined ? 'An agent' : `Agent "${agent}"`
}

function notConfigured(message: string, hint: string): PerdureError {
  return new PerdureError('MODEL_NOT_CONFIGURED', message, { hint })
}
