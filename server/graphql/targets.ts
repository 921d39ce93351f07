/** From the inputs of mutations to what the intake understands. */
import type { Json } from '../errors.js'
import type { HistoryItem } from '../session/history.js'
import type { SessionSpec } from '../session/intake.js'
import type { SessionMode } from '../session/session.js'
import type { Target } from './deliver.js'

export interface NewSession {
  readonly agent: string
  readonly mode?: SessionMode | null | undefined
  readonly sessionTimeoutMs?: number | null | undefined
  readonly title?: string | null | undefined
  readonly metadata?: { readonly [key: string]: Json } | null | undefined
  readonly addresses: readonly string[]
  readonly history: readonly { readonly role: 'USER' | 'ASSISTANT'; readonly text: string }[]
}

/** Of an input that must have exactly one of its fields, the others are missing or null. */
interface Ref {
  readonly id?: string | null | undefined
  readonly address?: string | null | undefined
}
interface Destination {
  readonly session?: string | null | undefined
  readonly address?: { readonly address: string; readonly create?: NewSession | null | undefined } | null | undefined
  readonly create?: NewSession | null | undefined
}

export function toSpec({ agent, mode, sessionTimeoutMs, title, metadata, addresses, history }: NewSession): SessionSpec {
  return {
    ...{ agent, mode: mode ?? null, idleTimeoutMs: sessionTimeoutMs ?? null, title: title ?? null, metadata: metadata ?? {} },
    ...{ addresses: [...new Set(addresses)], history: history.map(toHistoryItem) },
  }
}

function toHistoryItem({ role, text }: NewSession['history'][number]): HistoryItem {
  return role === 'USER' ? { role: 'user', text } : { role: 'assistant', text, calls: [], interrupted: false }
}

export function toTarget({ session, address, create }: Destination): Target {
  if (address) return { kind: 'address', address: address.address, create: address.create ? toSpec(address.create) : null }
  if (create) return { kind: 'create', spec: toSpec(create) }
  return { kind: 'session', id: session ?? '' }
}

export function refToTarget({ id, address }: Ref): Target {
  return address ? { kind: 'address', address, create: null } : { kind: 'session', id: id ?? '' }
}

/** The session that a target would create. */
export function specOf(target: Target): SessionSpec | null {
  switch (target.kind) {
    case 'create':
      return target.spec
    case 'address':
      return target.create
    default:
      return null
  }
}
