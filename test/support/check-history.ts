/**
 * The rules of history (server/session/history.ts, H1) over the rows of one session, and against its log: every call that the log tells of
 * has exactly one result. Returns what is broken, in words; a test expects an empty list.
 */
import type { RecordedEvent } from '../../server/session/events.js'
import { findInvalid, type HistoryItem } from '../../server/session/history.js'

export function checkHistory(history: readonly HistoryItem[], log: readonly RecordedEvent[]): readonly string[] {
  const broken: string[] = []
  const invalidAt = findInvalid(history)
  if (invalidAt !== null) broken.push(`item ${invalidAt} breaks H1: ${JSON.stringify(history[invalidAt] ?? 'the end')}`)
  const asked = history.flatMap((item) => (item.role === 'assistant' ? item.calls.map((call) => call.id) : []))
  const results = history.flatMap((item) => (item.role === 'tool' ? [item.callId] : []))
  const requested = log.flatMap((event) => (event.type === 'TOOL_CALL_REQUESTED' ? [event.data.callId] : []))
  for (const id of requested) {
    const times = results.filter((other) => other === id).length
    if (times !== 1) broken.push(`call ${id} has ${times} results in history`)
    if (!asked.includes(id)) broken.push(`call ${id} is in the log and not in history`)
  }
  if (asked.length !== requested.length) broken.push(`${asked.length} calls in history, ${requested.length} in the log`)
  broken.push(...checkWords(history, log))
  return broken
}

/** What people and the model said is the same in both, in the same order. */
function checkWords(history: readonly HistoryItem[], log: readonly RecordedEvent[]): readonly string[] {
  const inLog = log.flatMap((event) => {
    if (event.type === 'MESSAGE_RECEIVED') return [`user: ${event.data.text}`]
    return event.type === 'MESSAGE_COMPLETED' ? [`assistant: ${event.data.text}`] : []
  })
  const inHistory = history.flatMap((item) => (item.role === 'tool' || item.text === '' ? [] : [`${item.role}: ${item.text}`]))
  const same = JSON.stringify(inLog) === JSON.stringify(inHistory)
  return same ? [] : [`the log tells ${JSON.stringify(inLog)}, history ${JSON.stringify(inHistory)}`]
}
