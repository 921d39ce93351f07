/**
 * The answer to a subscription, on its way to the socket: an event for each result, then that it is complete, and a comment when nothing
 * was sent for a while.
 *
 * - W1 The next item is asked for when the socket has taken the event before. A client that reads slowly keeps no more than that in
 *   memory; what it has not come to is the source's to keep, or to forget and read again.
 * - W2 A client that goes away ends its subscription at once, whatever is being waited for.
 */
import type { ServerResponse } from 'node:http'
import type { Clock } from '../clock.js'
import { sendBatches } from './batch-pump.js'
import { KEEP_ALIVE_MS } from './limits.js'
import { createNextTurn } from './next-turn.js'
import type { ToEvent } from './shared-events.js'
import { COMMENT, COMPLETE, encodeFailure, type MaskError } from './sse.js'
import { isReader } from './stream.js'

/** A subscription that has not begun. */
export interface Opened {
  /** Items, and readers of batches. */
  readonly parts: AsyncIterator<unknown>
  readonly toEvent: ToEvent
}

/** `response` has its head. Resolves when all was sent, or the client has gone. */
export type SendEvents = (opened: Opened, response: ServerResponse) => Promise<void>

export function createSendEvents(clock: Clock, mask: MaskError): SendEvents {
  const nextTurn = createNextTurn()
  return async ({ parts, toEvent }, response) => {
    // Whoever has gone before is not told of again.
    if (response.destroyed) return
    const leave = (): void => void parts.return?.().catch(() => undefined)
    // It lasts, whatever limit of idle time the server has.
    response.socket?.setTimeout(0).setNoDelay(true).setKeepAlive(true)
    const stopComments = sendComments(response, clock)
    response.once('close', leave)
    try {
      for (let next = await parts.next(); next.done !== true; next = await parts.next()) {
        if (isReader(next.value)) await sendBatches({ reader: next.value, toEvent, response, nextTurn })
        else if (!response.write(await toEvent(next.value))) await untilTaken(response)
      }
    } catch (thrown) {
      leave()
      response.write(encodeFailure(thrown, mask))
    } finally {
      stopComments()
      response.off('close', leave)
    }
    response.end(COMPLETE)
  }
}

/** One at once, so that clients take the head for sent, and then whenever nothing was sent between two looks. */
function sendComments(response: ServerResponse, clock: Clock): () => void {
  response.write(COMMENT)
  let written: number | undefined
  let cancel = clock.after(KEEP_ALIVE_MS, look)
  function look(): void {
    if (response.socket?.bytesWritten === written && !response.writableNeedDrain) response.write(COMMENT)
    written = response.socket?.bytesWritten
    cancel = clock.after(KEEP_ALIVE_MS, look)
  }
  return () => {
    cancel()
  }
}

function untilTaken(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done)
      resolve()
    }
    if (response.destroyed) resolve()
    else response.once('drain', done).once('close', done)
  })
}
