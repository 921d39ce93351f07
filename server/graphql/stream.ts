/** What subscriptions are made of. */
import { BatchIterator, type BatchReader } from '../events/batch-reader.js'
import type { EventBatch } from '../events/event-batch.js'

/**
 * An async generator that can be left while it waits: a plain one answers `return` only after the `next` that it waits for, and a
 * client that has gone would keep everything open until something happens. Leaving aborts the signal, and the generator
 * must end soon after that.
 */
export function abortable<Item>(generate: (signal: AbortSignal) => AsyncGenerator<Item, void>): AsyncIterableIterator<Item> {
  const controller = new AbortController()
  const items = generate(controller.signal)
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next: () => items.next(),
    return: () => {
      controller.abort()
      return items.return()
    },
  }
}

/** Items of which some are batches of events. Every iteration is one of its own. */
export interface BatchSource<Item> extends AsyncIterable<Item | EventBatch> {
  /** The same, but in the place of its batches stands their reader: for whoever does not wait for each of thousands. */
  parts(): AsyncIterableIterator<Item | BatchReader>
}

/** `generate` is what `abortable` takes. */
export function createBatchSource<Item extends object>(
  generate: (signal: AbortSignal) => AsyncGenerator<Item | BatchReader, void>,
): BatchSource<Item> {
  return {
    parts: () => abortable(generate),
    [Symbol.asyncIterator]: () => abortable((signal) => flatten(generate(signal))),
  }
}

async function* flatten<Item extends object>(parts: AsyncIterable<Item | BatchReader>): AsyncGenerator<Item | EventBatch, void> {
  for await (const part of parts) {
    if (isReader(part)) yield* new BatchIterator(part)
    else yield part
  }
}

/** The parts of whatever a field was subscribed with. */
export function partsOf(source: AsyncIterable<unknown>): AsyncIterator<unknown> {
  return isBatchSource(source) ? source.parts() : source[Symbol.asyncIterator]()
}

function isBatchSource(source: AsyncIterable<unknown>): source is BatchSource<unknown> {
  return 'parts' in source
}

export function isReader(part: unknown): part is BatchReader {
  return typeof part === 'object' && part !== null && 'take' in part
}
