import { describe, expect, test } from 'vitest'
import { AT_REST, SESSION_STATUSES, canMove, isEnded, type SessionStatus } from '../../server/session/status.js'

const yes = true
const no = false
type Row = Readonly<Record<SessionStatus, boolean>>

const NOWHERE: Row = {
  CREATED: no,
  RUNNING: no,
  IDLE: no,
  WAITING_FOR_INPUT: no,
  WAITING_FOR_APPROVAL: no,
  WAITING_FOR_AUTHORIZATION: no,
  WAITING_FOR_TASKS: no,
  HIBERNATED: no,
  COMPLETED: no,
  FAILED: no,
  CANCELLED: no,
}
const FROM_WAITING: Row = {
  CREATED: no,
  RUNNING: yes,
  IDLE: yes,
  WAITING_FOR_INPUT: yes,
  WAITING_FOR_APPROVAL: yes,
  WAITING_FOR_AUTHORIZATION: yes,
  WAITING_FOR_TASKS: yes,
  HIBERNATED: no,
  COMPLETED: yes,
  FAILED: yes,
  CANCELLED: yes,
}

/** Every move between two statuses, from the row to the column. Staying is no move, and always allowed. */
const MOVES: Readonly<Record<SessionStatus, Row>> = {
  CREATED: { ...NOWHERE, RUNNING: yes, COMPLETED: yes, FAILED: yes },
  RUNNING: { ...FROM_WAITING, RUNNING: no },
  IDLE: { ...NOWHERE, RUNNING: yes, HIBERNATED: yes, COMPLETED: yes, FAILED: yes },
  WAITING_FOR_INPUT: { ...FROM_WAITING, WAITING_FOR_INPUT: no },
  WAITING_FOR_APPROVAL: { ...FROM_WAITING, WAITING_FOR_APPROVAL: no },
  WAITING_FOR_AUTHORIZATION: { ...FROM_WAITING, WAITING_FOR_AUTHORIZATION: no },
  WAITING_FOR_TASKS: { ...FROM_WAITING, WAITING_FOR_TASKS: no },
  HIBERNATED: { ...NOWHERE, RUNNING: yes, IDLE: yes, COMPLETED: yes, FAILED: yes },
  COMPLETED: NOWHERE,
  FAILED: NOWHERE,
  CANCELLED: NOWHERE,
}
const ENDS: Row = { ...NOWHERE, COMPLETED: yes, FAILED: yes, CANCELLED: yes }
const RESTS: Row = { ...NOWHERE, CREATED: yes, IDLE: yes, HIBERNATED: yes }

const cells = SESSION_STATUSES.flatMap((from) => SESSION_STATUSES.map((to) => ({ from, to, may: from === to || MOVES[from][to] })))

describe('a session', () => {
  test.each(cells.filter(({ may }) => may))('may go from $from to $to', ({ from, to }) => {
    expect(canMove(from, to)).toBe(true)
  })

  test.each(cells.filter(({ may }) => !may))('never goes from $from to $to', ({ from, to }) => {
    expect(canMove(from, to)).toBe(false)
  })

  test.each(SESSION_STATUSES)('that is %s has ended, or has not', (status) => {
    expect(isEnded(status)).toBe(ENDS[status])
  })

  test.each(SESSION_STATUSES)('that is %s starts a turn with the next message, or does not', (status) => {
    expect(AT_REST.includes(status)).toBe(RESTS[status])
  })
})
