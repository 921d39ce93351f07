/** Which events a reader gets who asks for some types only. */
import type { EventType } from '../session/events.js'

const RETRACTIONS = ['STEP_RETRYING', 'STEP_INTERRUPTED'] as const

/** Whoever reads what a model writes also has to hear when it is taken back. */
export function withRetractions(types: readonly EventType[]): ReadonlySet<EventType> {
  return new Set(types.some((type) => type.startsWith('LLM_')) ? [...types, ...RETRACTIONS] : types)
}
