/** What is done to every request beside executing it. */
import { createComplexityRule } from '@pothos/plugin-complexity'
import { parse, validate, type DocumentNode, type GraphQLError, type GraphQLSchema } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { tooComplex, type ErrorCode } from './errors.js'
import { MAX_COMPLEXITY, MAX_DEPTH, MAX_TOKENS } from './limits.js'

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
