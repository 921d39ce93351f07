/** What subscriptions are made of. */

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
