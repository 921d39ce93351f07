/** The status of a session, from what it is at. */
import type { Phase } from './checkpoint.js'
import type { WaitReason } from './events.js'
import type { Request } from './requests.js'
import { AT_REST, type SessionStatus } from './status.js'

/** Between turns it stays what it was, and is not idle before it is parked. */
export function statusOf(phase: Phase, requests: readonly Request[], before: SessionStatus): SessionStatus {
  switch (phase.kind) {
    case 'created':
    case 'idle':
      return AT_REST.includes(before) ? before : 'RUNNING'
    case 'modelling':
      return 'RUNNING'
    case 'acting':
    case 'held': {
      const on = waitsFor(requests)
      return on === null ? 'RUNNING' : `WAITING_FOR_${on}`
    }
    case 'ended':
      return phase.status
  }
}

/** What people are waited for, the most urgent of it; also while calls beside it run. */
export function waitsFor(requests: readonly Pick<Request, 'kind'>[]): Exclude<WaitReason, 'TASKS' | 'TIMER'> | null {
  const kinds = new Set(requests.map(({ kind }) => kind))
  if (kinds.has('APPROVAL')) return 'APPROVAL'
  if (kinds.has('AUTHORIZATION')) return 'AUTHORIZATION'
  return kinds.size > 0 ? 'INPUT' : null
}
