/** Lists that come in pages. */

export interface Page<Node> {
  readonly nodes: readonly Node[]
  readonly pageInfo: { readonly hasNextPage: boolean; /** Pass it as `after` for the next page. */ readonly endCursor: string | null }
}

/** Await it for one page; iterate it for every node of every page from there on. No request is made before that. */
export interface Pages<Node> extends PromiseLike<Page<Node>>, AsyncIterable<Node> {}

/** `load` gets the cursor to continue after; undefined for the page that the caller asked for. */
export function createPages<Node>(load: (after: string | undefined) => Promise<Page<Node>>): Pages<Node> {
  return {
    then: (onPage, onError) => load(undefined).then(onPage, onError),
    async *[Symbol.asyncIterator]() {
      for (let after: string | undefined; ;) {
        const page = await load(after)
        yield* page.nodes
        if (!page.pageInfo.hasNextPage || page.pageInfo.endCursor === null) return
        after = page.pageInfo.endCursor
      }
    },
  }
}
