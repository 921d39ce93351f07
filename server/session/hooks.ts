/** What an agent's author may watch: facts of its sessions, after they were recorded. */
import type { EventType, RecordedEvent, WireName } from './events.js'
import type { AgentPort, HookContext } from './agent-port.js'

/** Few and telling, among them whatever waits for a person, so that somebody can be told; what is streamed and what is inside a step is for subscribers. */
export const HOOKED_TYPES = [
  'SESSION_STARTED',
  'SESSION_WAITING',
  'SESSION_COMPLETED',
  'SESSION_FAILED',
  'SESSION_CANCELLED',
  'CONTEXT_CLEARED',
  'TURN_STARTED',
  'TURN_COMPLETED',
  'TURN_FAILED',
  'TURN_CANCELLED',
  'APPROVAL_REQUESTED',
  'INPUT_REQUESTED',
  'AUTHORIZATION_REQUIRED',
  'TOOL_CALL_REQUESTED',
  'TOOL_CALL_START',
  'TOOL_CALL_END',
] as const satisfies readonly EventType[]
export type HookedType = (typeof HOOKED_TYPES)[number]

/** Observes: what it gives is ignored, what it throws is logged. */
export type Hook<Type extends HookedType = HookedType> = (
  event: Extract<RecordedEvent, { readonly type: Type }>,
  context: HookContext,
) => unknown

/** By the name of the event outside GraphQL, e.g. `turn.completed`. */
export type Hooks = { readonly [Type in HookedType as WireName<Type>]?: Hook<Type> }

/** Calls the hook for the event, if there is one. */
export type Notify = NonNullable<AgentPort['notify']>
