/**
 * The reviewer's queue: what the caller may answer, and how that changes.
 *
 * - Q1 Each connection is made before the list is read, so that what happens in between is told by one of them.
 * - Q2 The list is read again with each connection. What was open before and is not in it any more was settled meanwhile: it is looked up
 *   and told, so that nobody waits for a request that is gone.
 * - Q3 A request is told when it opens and when it does not any more, once each, whatever the server repeats.
 */
import type { CallOptions } from './delivery.js'
import { closing } from './event-stream.js'
import { GetInputRequestsDocument, InputRequestChangedDocument, ListInputRequestsDocument } from './generated/documents.js'
import type { InputRequestKind, InputRequestStatus } from './generated/operations.js'
import { createInputRequest, type InputRequest, type InputRequestInfo } from './input-request.js'
import { LostError } from './lost-error.js'
import { createPages, type Page, type Pages } from './pages.js'
import { IDLE_TIMEOUT_MS, NO_FAILURES, waitToReconnect, type Attempts, type ConnectOptions } from './reconnect.js'
import { toError } from './runtime.js'
import type { Transport } from './transport.js'

export interface InputRequestFilter {
  /** Default: of every kind. */
  readonly kind?: InputRequestKind | readonly InputRequestKind[] | undefined
  /** Names of agents. Default: of every agent. */
  readonly agent?: string | readonly string[] | undefined
}
export interface InputRequestsOptions extends InputRequestFilter, ConnectOptions {}
export interface ListInputRequestsOptions extends CallOptions {
  /** Default: only what is open. */
  readonly status?: InputRequestStatus | readonly InputRequestStatus[] | undefined
  /** Nodes of a page; the server's default and limit apply. */
  readonly first?: number | undefined
  readonly after?: string | undefined
}

/**
 * Iterate it to follow the queue: first everything that is open (`status: 'PENDING'`), oldest first, then each request that opens, and
 * each of those again when it is open no more, with its status and answer. It reconnects by itself, and nothing is missed; closing the
 * iterator closes the connection. Each iteration starts anew.
 */
export interface InputRequests extends AsyncIterable<InputRequest> {
  /** Newest first. Await it for a page, iterate it for all. */
  list(options?: ListInputRequestsOptions): Pages<InputRequest>
}

export function createInputRequests(transport: Transport, options: InputRequestsOptions = {}): InputRequests {
  return {
    list: (of = {}) =>
      createPages(async (next) => {
        const { nodes, pageInfo } = await loadPage(transport, options, { ...of, after: next ?? of.after })
        return { nodes: nodes.map((info) => createInputRequest(transport, info)), pageInfo }
      }),
    [Symbol.asyncIterator]: () => closing(options.signal, (signal) => follow(transport, { ...options, signal })),
  }
}

async function loadPage(transport: Transport, filter: InputRequestFilter, of: ListInputRequestsOptions): Promise<Page<InputRequestInfo>> {
  const { signal, status = 'PENDING', first = null, after = null } = of
  return (await transport.request(ListInputRequestsDocument, { ...toVariables(filter), status, first, after }, { signal })).inputRequests
}

interface Following extends InputRequestsOptions {
  readonly signal: AbortSignal
}
/** Told as open, by id. */
type Open = Map<string, InputRequestInfo>

async function* follow(transport: Transport, options: Following): AsyncGenerator<InputRequest, void, undefined> {
  const open: Open = new Map()
  const attempts: Attempts = { ...NO_FAILURES }
  for (;;) {
    let failure: Error
    try {
      yield* readConnection(transport, options, { open, attempts })
      failure = new LostError('the server closed the stream of requests')
    } catch (error) {
      failure = toError(error)
    }
    await waitToReconnect(transport, failure, { options, attempts, cursor: null })
  }
}

/** Remembers what is open (Q3). */
function isNews(open: Open, info: InputRequestInfo): boolean {
  if (info.status !== 'PENDING') return open.delete(info.id)
  if (open.has(info.id)) return false
  open.set(info.id, info)
  return true
}

interface Standing {
  readonly open: Open
  readonly attempts: Attempts
}

async function* readConnection(
  transport: Transport,
  options: Following,
  { open, attempts }: Standing,
): AsyncGenerator<InputRequest, void, undefined> {
  let onOpen: (() => void) | undefined
  const opened = new Promise<void>((resolve) => (onOpen = resolve))
  const { idleTimeoutMs = IDLE_TIMEOUT_MS } = options
  const changes = closing(options.signal, (signal) =>
    transport.subscribe(InputRequestChangedDocument, toVariables(options), { signal, idleTimeoutMs, onOpen }),
  )
  try {
    let next = changes.next()
    await Promise.race([opened, next])
    // Its failure is told when it is its turn.
    next.catch(() => undefined)
    for (const info of await readList(transport, options, open)) if (isNews(open, info)) yield createInputRequest(transport, info)
    attempts.failures = 0
    for (let change = await next; change.done !== true; change = await next) {
      Object.assign(attempts, NO_FAILURES)
      const info = change.value.inputRequestChanged
      if (isNews(open, info)) yield createInputRequest(transport, info)
      next = changes.next()
    }
  } finally {
    await changes.return?.()
  }
}

/** Everything that is open, oldest first, and what has become of the rest of what was (Q2). */
async function readList(transport: Transport, options: Following, open: Open): Promise<readonly InputRequestInfo[]> {
  const { signal } = options
  const listed: InputRequestInfo[] = []
  for await (const info of createPages((after) => loadPage(transport, options, { signal, first: PAGE, after }))) listed.push(info)
  const ids = new Set(listed.map(({ id }) => id))
  const gone = [...open.values()].filter(({ id }) => !ids.has(id))
  const ended: InputRequestInfo[] = []
  for (let from = 0; from < gone.length; from += PAGE) ended.push(...(await readEnded(transport, gone.slice(from, from + PAGE), signal)))
  return [...ended, ...listed.reverse()]
}

const PAGE = 100

/** One that the caller may not answer any more, although it is open, is withdrawn as far as he is concerned. */
async function readEnded(
  transport: Transport,
  gone: readonly InputRequestInfo[],
  signal: AbortSignal,
): Promise<readonly InputRequestInfo[]> {
  const { nodes } = await transport.request(GetInputRequestsDocument, { ids: gone.map(({ id }) => id) }, { signal })
  return gone.map((info, at) => {
    const node = nodes[at]
    return node?.__typename === 'InputRequest' && node.status !== 'PENDING' ? node : { ...info, status: 'CANCELLED' }
  })
}

function toVariables({ kind, agent }: InputRequestFilter) {
  return { kind: kind ?? null, agent: agent ?? null }
}
