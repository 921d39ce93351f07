/** Tells what a GraphQL response says: data, errors, credentials refused, or nothing that is GraphQL. */
import { GraphqlRequestError, UnauthenticatedError, type GraphqlErrorInfo } from './errors.js'
import { LostError } from './lost-error.js'

const SHOWN_BODY = 200

export interface RawResponse {
  readonly url: string
  readonly status: number
  readonly isJson: boolean
  readonly text: string
}

interface GraphqlResponse {
  readonly data?: unknown
  readonly errors?: readonly GraphqlErrorInfo[]
}

/** The data; errors are thrown, also when some data came with them. Throws LostError when it is worth another try. */
export function readResult<Result>({ url, status, isJson, text }: RawResponse): Result {
  const body = parseResponse(text, isJson)
  const errors = body?.errors ?? []
  const codes = errors.map((error) => error.extensions?.['code'])
  if (status === 401 || codes.includes('UNAUTHENTICATED')) {
    const said = errors[0]?.message ?? `it answered ${status}`
    throw new UnauthenticatedError(`${url} does not accept the credentials: ${said}; pass \`token\` or \`headers\` to createClient`)
  }
  if (codes.includes('RATE_LIMITED')) throw new LostError(`the server limits the rate of requests: ${errors[0]?.message ?? ''}`, { status })
  if (errors.length > 0) {
    const messages = errors.map((error) => error.message).join('; ')
    throw new GraphqlRequestError(messages, { url, status, errors, data: body?.data })
  }
  if (body?.data === undefined || body.data === null) {
    const start = text.trim().slice(0, SHOWN_BODY)
    throw new GraphqlRequestError(`${url} answered ${status} without a GraphQL response; is the url right? It begins: ${start}`, {
      url,
      status,
    })
  }
  return body.data as Result
}

function parseResponse(text: string, isJson: boolean): GraphqlResponse | null {
  try {
    const body: unknown = JSON.parse(text)
    return typeof body === 'object' && body !== null && ('data' in body || 'errors' in body) ? (body as GraphqlResponse) : null
  } catch (cause) {
    // Said to be JSON and is not: a reply that was cut short.
    if (isJson) throw new LostError('the answer was cut short', { cause })
    return null
  }
}
