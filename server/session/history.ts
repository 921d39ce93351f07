/**
 * What the model reads: append-only rows in (epoch, position) order. System instructions are never among them.
 *
 * H1 Each assistant item with calls is followed by exactly one result for each of them, in call order.
 */
import type { Json } from '../errors.js'
import type { CallId } from '../ids.js'

export const HISTORY_VERSION = 1

export interface UserItem {
  readonly role: 'user'
  readonly text: string
}
export interface HistoryCall {
  readonly id: CallId
  readonly name: string
  /** Always a JSON value: arguments that did not parse are kept as `{}` here and raw in the tool call's row. */
  readonly input: Json
}
export interface AssistantItem {
  readonly role: 'assistant'
  readonly text: string
  readonly calls: readonly HistoryCall[]
  /** True when the answer was cut short by a cancel or a timeout. */
  readonly interrupted: boolean
}
export interface ToolItem {
  readonly role: 'tool'
  readonly callId: CallId
  readonly name: string
  /** What the model reads. */
  readonly text: string
  readonly isError: boolean
}
export type HistoryItem = UserItem | AssistantItem | ToolItem

const LOST_RESULT = 'The result of this call was lost.'

/**
 * Makes any sequence valid (H1): a missing result is told as lost, a result that nobody asked for and an empty assistant
 * item are left out, results are put in call order. A valid history comes back as it was, the same object.
 */
export function repairHistory(history: readonly HistoryItem[]): readonly HistoryItem[] {
  if (findInvalid(history) === null) return history
  const repaired: HistoryItem[] = []
  for (const [index, item] of history.entries()) {
    if (item.role === 'tool') continue
    if (item.role === 'user') repaired.push(item)
    else if (item.text !== '' || item.calls.length > 0) repaired.push(item, ...resultsOf(item, history, index + 1))
  }
  return repaired
}

function resultsOf(item: AssistantItem, history: readonly HistoryItem[], from: number): ToolItem[] {
  const next = history.findIndex((later, index) => index >= from && later.role === 'assistant')
  const window = history.slice(from, next === -1 ? undefined : next)
  return item.calls.map((call) => {
    const found = window.find((later): later is ToolItem => later.role === 'tool' && later.callId === call.id)
    return found ?? { role: 'tool', callId: call.id, name: call.name, text: LOST_RESULT, isError: true }
  })
}

/** The index of the first item that breaks H1, or null. `from` skips what was validated before; it must start outside a batch of results. */
export function findInvalid(history: readonly HistoryItem[], from = 0): number | null {
  let owed: readonly HistoryCall[] = []
  for (let index = from; index < history.length; index += 1) {
    const item = history[index]
    if (item === undefined) break
    if (item.role === 'tool') {
      if (owed[0]?.id !== item.callId) return index
      owed = owed.slice(1)
    } else if (owed.length > 0 || isEmpty(item)) {
      return index
    } else if (item.role === 'assistant') {
      owed = item.calls
    }
  }
  return owed.length > 0 ? history.length : null
}

function isEmpty(item: UserItem | AssistantItem): boolean {
  return item.role === 'assistant' && item.text === '' && item.calls.length === 0
}
