/**
 * A fetch whose response bodies arrive cut as a test says. A real socket joins what comes close together, so that a server alone
 * cannot make sure where its client sees a cut.
 */
export function slicingFetch(slice: (bytes: Uint8Array) => readonly Uint8Array[]): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    const slicer = new TransformStream<Uint8Array, Uint8Array>({
      transform: (bytes, controller) => {
        for (const piece of slice(bytes)) controller.enqueue(piece)
      },
    })
    const body = response.body === null ? null : response.body.pipeThrough(slicer)
    return new Response(body, { status: response.status, headers: response.headers })
  }
}

/** Pieces of `size` bytes; the last may be shorter. */
export function everyBytes(size: number): (bytes: Uint8Array) => readonly Uint8Array[] {
  return (bytes) => Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.slice(index * size, (index + 1) * size))
}

/** A fetch that answers every call with this event stream, in these pieces. */
export function answeringFetch(pieces: readonly Uint8Array[]): typeof fetch {
  return () => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (const piece of pieces) controller.enqueue(piece)
        controller.close()
      },
    })
    return Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }))
  }
}
