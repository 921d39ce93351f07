import { scripted, type ModelClient, type Script } from 'perdure'

const { OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL } = process.env

/** A real model when one is configured, else the script: so that the examples answer without a key. */
export function modelOr(script: Script): string | ModelClient {
  if (OPENAI_API_KEY || OPENAI_BASE_URL) return `openai/${OPENAI_MODEL || 'gpt-5-mini'}`
  return scripted(script, { delayMs: 12 })
}
