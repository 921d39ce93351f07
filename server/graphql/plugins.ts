/** What is done to every request beside executing it. */
import { createComplexityRule } from '@pothos/plugin-complexity'
import {
  createSourceEventStream,
  execute,
  parse,
  validate,
  type DocumentNode,
  type ExecutionArgs,
  type GraphQLError,
  type GraphQLSchema,
} from 'graphql'
import { isAsyncIterable, mapAsyncIterator, type Plugin } from 'graphql-yoga'
import { badVariables, tooComplex, type ErrorCode } from './errors.js'
import type { Opened } from './event-stream.js'
import { MAX_COMPLEXITY, MAX_DEPTH, MAX_TOKENS } from './limits.js'
import type { SharedEvents } from './shared-events.js'
import { partsOf } from './stream.js'

interface Execution {
  readonly schema: GraphQLSchema
  readonly document: DocumentNode
  readonly contextValue?: object
  readonly variableValues?: Record<string, unknown> | null | undefined
  readonly operationName?: string | null | undefined
}

/** Refuses a document that is too long, too deep or asks for too much, before anything of it is executed. */
export function limitCost(): Plugin {
  return {
    onParse({ setParseFn }) {
      setParseFn((source: string, options: object) => parse(source, { ...options, maxLexicalTokens: MAX_TOKENS }))
    },
    onExecute({ args, setResultAndStopExecution }) {
      const error = findCostError(args)
      if (error !== null) setResultAndStopExecution({ errors: [error] })
    },
    onSubscribe({ args, setResultAndStopExecution }) {
      const error = findCostError(args)
      if (error !== null) setResultAndStopExecution({ errors: [error] })
    },
  }
}

/** Variables count: `first: $many`. Ones that do not fit are left to the execution, which tells why. */
function findCostError({ schema, document, contextValue = {}, variableValues, operationName }: Execution): GraphQLError | null {
  let found: GraphQLError | null = null
  const rule = createComplexityRule({
    context: contextValue,
    variableValues: variableValues ?? {},
    operationName: operationName ?? null,
    validate: ({ depth, complexity }) => {
      if (depth > MAX_DEPTH) found = tooComplex(`This query is ${depth} levels deep; at most ${MAX_DEPTH} are answered.`)
      else if (complexity > MAX_COMPLEXITY) {
        found = tooComplex(
          `This query may ask for ${complexity} fields; at most ${MAX_COMPLEXITY} are answered at once. Ask for smaller pages.`,
        )
      }
    },
  })
  validate(schema, document, [rule])
  return found
}

/** Only JSON is taken: what a form of another site can send without asking first is refused. */
export function requireJson(): Plugin {
  return {
    onRequestParse({ request, endResponse, fetchAPI }) {
      if (request.method !== 'POST' || isJson(request.headers.get('content-type'))) return
      const message = 'Send the query as JSON, with content-type: application/json.'
      const body = JSON.stringify({ errors: [{ message, extensions: { code: 'BAD_USER_INPUT' satisfies ErrorCode } }] })
      endResponse(new fetchAPI.Response(body, { status: 415, headers: { 'content-type': 'application/json; charset=utf-8' } }))
    },
  }
}

function isJson(contentType: string | null): boolean {
  return /^application\/(graphql\+)?json\s*(;|$)/i.test(contentType ?? '')
}

/**
 * Keeps subscriptions back from yoga, for whoever sends them to the socket himself: their answers have a head only, and are in `opened`.
 * Everything before and all that is refused goes its usual way.
 */
export function keepSubscriptions(events: SharedEvents, opened: WeakMap<Response, Opened>): Plugin {
  const asked = new WeakMap<Request, Opened>()
  return {
    onSubscribe({ args: { contextValue }, setSubscribeFn }) {
      // Yoga's part of the context has the whole text of the request, which nobody needs as long as the subscription lasts.
      const { request, params: _, ...context } = contextValue
      setSubscribeFn(async (given: ExecutionArgs) => {
        const args = { ...given, contextValue: context }
        const source = await createSourceEventStream(args)
        // Without a path an error is about the request: nothing was asked of the field yet.
        if (!isAsyncIterable(source))
          return { errors: source.errors?.map((error) => (error.path === undefined ? badVariables(error) : error)) }
        asked.set(request, { parts: partsOf(source), toEvent: events.prepare(args) })
        // What yoga negotiates about. It is not iterated when an event stream is accepted, and nothing else can be.
        return mapAsyncIterator(source, (item) => execute({ ...args, rootValue: item }))
      })
    },
    onResultProcess(payload) {
      const subscription = asked.get(payload.request)
      if (subscription === undefined || payload.resultProcessor === undefined || !isAsyncIterable(payload.result)) return
      payload.setResultProcessor((_, fetchAPI) => {
        const answer = new fetchAPI.Response(null, { headers: { 'content-type': 'text/event-stream', 'content-encoding': 'none' } })
        opened.set(answer, subscription)
        return answer
      }, 'text/event-stream')
    },
  }
}

/** Streams pass proxies as they come: neither held back nor packed. */
export function streamThroughProxies(): Plugin {
  return {
    onResponse({ response }) {
      if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream')) return
      // To set alone would send both: the headers of this response tell upper case from lower until one is deleted.
      response.headers.delete('cache-control')
      response.headers.set('cache-control', 'no-cache, no-transform')
      response.headers.set('x-accel-buffering', 'no')
    },
  }
}
