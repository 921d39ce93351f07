/** A fetch that asks the server once for each different request, then answers from memory: for tests that read the same log often. */

export type Breakage = 'error' | 'end'
export interface RecordedFetch {
  readonly fetch: typeof fetch
  /** The next answer stops after so many bytes of its body, with an error of the connection or as if it were whole. */
  breakNext(afterBytes: number, breakage: Breakage): void
  /** Bytes of the longest answer. */
  longest(): number
  /** Bodies of the requests made since the last call of this. */
  takeRequests(): readonly string[]
}

export function recordFetch(): RecordedFetch {
  const answers = new Map<string, { readonly head: ResponseInit; readonly body: Uint8Array }>()
  let next: { readonly afterBytes: number; readonly breakage: Breakage } | null = null
  let requests: string[] = []
  return {
    breakNext: (afterBytes, breakage) => (next = { afterBytes, breakage }),
    longest: () => Math.max(...[...answers.values()].map(({ body }) => body.length)),
    takeRequests() {
      const taken = requests
      requests = []
      return taken
    },
    async fetch(url, init) {
      const key = typeof init?.body === 'string' ? init.body : ''
      requests.push(key)
      const known = answers.get(key) ?? (await record(await fetch(url, init)))
      answers.set(key, known)
      const broken = next
      next = null
      return new Response(toStream(known.body, broken), known.head)
    },
  }
}

async function record(response: Response): Promise<{ readonly head: ResponseInit; readonly body: Uint8Array }> {
  const head = { status: response.status, headers: new Headers(response.headers) }
  return { head, body: new Uint8Array(await response.arrayBuffer()) }
}

function toStream(
  body: Uint8Array,
  broken: { readonly afterBytes: number; readonly breakage: Breakage } | null,
): ReadableStream<Uint8Array> {
  const pieces = broken === null ? [body] : [body.slice(0, broken.afterBytes)]
  return new ReadableStream({
    pull(controller) {
      const piece = pieces.shift()
      if (piece !== undefined && piece.length > 0) controller.enqueue(piece)
      else if (broken?.breakage === 'error') controller.error(new TypeError('terminated'))
      else controller.close()
    },
  })
}
