import { closing, openBatches, type EventStreamOptions } from './event-stream.js'
import { initialMessages, MESSAGE_EVENT_TYPES, reduceMessages, type MessagesState } from './messages.js'
import type { Transport } from './transport.js'

/** `last` limits how far back the conversation is read; a message that it cuts is shown from there on. */
export type FollowMessagesOptions = Omit<EventStreamOptions, 'after' | 'types'>

/** The conversation when all that is recorded has been read, and again after every change. */
export function followMessages(
  transport: Transport,
  sessionId: string,
  options: FollowMessagesOptions = {},
): AsyncIterableIterator<MessagesState> {
  return closing(options.signal, async function* (signal) {
    let state = initialMessages()
    let shown: MessagesState | null = null
    for await (const batch of openBatches(transport, sessionId, { ...options, signal, types: MESSAGE_EVENT_TYPES })) {
      state = batch.events.reduce(reduceMessages, state)
      if (!batch.caughtUp || state === shown) continue
      shown = state
      yield state
    }
    if (state !== shown) yield state
  })
}
