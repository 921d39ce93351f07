/** What an event belongs to. */
import type { OpenTurn } from '../checkpoint.js'
import type { TurnId } from '../../ids.js'

export interface Scope {
  readonly turnId: TurnId | null
  readonly stepIndex: number | null
  readonly attempt: number | null
}
export const SESSION_SCOPE: Scope = { turnId: null, stepIndex: null, attempt: null }

export function turnScope(turn: Pick<OpenTurn, 'id'>): Scope {
  return { turnId: turn.id, stepIndex: null, attempt: null }
}

export function stepScope(turn: Pick<OpenTurn, 'id'>, step: { readonly index: number; readonly attempt: number }): Scope {
  return { turnId: turn.id, stepIndex: step.index, attempt: step.attempt }
}
