/**
 * The status of a session and every move between two of them, as data: code, tests and docs read this one table.
 * A move that is not here is a bug, and the store refuses it.
 */
export const SESSION_STATUSES = [
  'CREATED',
  'RUNNING',
  'IDLE',
  'WAITING_FOR_INPUT',
  'WAITING_FOR_APPROVAL',
  'WAITING_FOR_AUTHORIZATION',
  'WAITING_FOR_TASKS',
  'HIBERNATED',
  'COMPLETED',
  'FAILED',
  'CANCELLED',
] as const
export type SessionStatus = (typeof SESSION_STATUSES)[number]

const WAITING = ['WAITING_FOR_INPUT', 'WAITING_FOR_APPROVAL', 'WAITING_FOR_AUTHORIZATION', 'WAITING_FOR_TASKS'] as const
const FROM_WAITING = [...WAITING, 'RUNNING', 'IDLE', 'COMPLETED', 'FAILED', 'CANCELLED'] as const

/** Where a session may go from each status. COMPLETED, FAILED and CANCELLED are the end. */
export const STATUS_MOVES: Readonly<Record<SessionStatus, readonly SessionStatus[]>> = {
  CREATED: ['RUNNING', 'COMPLETED', 'FAILED'],
  RUNNING: ['IDLE', ...WAITING, 'COMPLETED', 'FAILED', 'CANCELLED'],
  IDLE: ['RUNNING', 'HIBERNATED', 'COMPLETED', 'FAILED'],
  WAITING_FOR_INPUT: FROM_WAITING.filter((to) => to !== 'WAITING_FOR_INPUT'),
  WAITING_FOR_APPROVAL: FROM_WAITING.filter((to) => to !== 'WAITING_FOR_APPROVAL'),
  WAITING_FOR_AUTHORIZATION: FROM_WAITING.filter((to) => to !== 'WAITING_FOR_AUTHORIZATION'),
  WAITING_FOR_TASKS: FROM_WAITING.filter((to) => to !== 'WAITING_FOR_TASKS'),
  HIBERNATED: ['RUNNING', 'IDLE', 'COMPLETED', 'FAILED'],
  COMPLETED: [],
  FAILED: [],
  CANCELLED: [],
}

/** True when the move is in the table, or is none. */
export function canMove(from: SessionStatus, to: SessionStatus): boolean {
  return from === to || STATUS_MOVES[from].includes(to)
}

export function isEnded(status: SessionStatus): boolean {
  return STATUS_MOVES[status].length === 0
}

/** Parked with no turn open: the next message starts one, and the status says RUNNING as soon as it is accepted. */
export const AT_REST: readonly SessionStatus[] = ['CREATED', 'IDLE', 'HIBERNATED']
