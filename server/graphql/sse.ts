/** The bytes of GraphQL over server-sent events, in its mode of distinct connections: `next` for each result, then `complete`. */
import type { ExecutionResult, GraphQLError } from 'graphql'

/** What a client is told of what was thrown. */
export type MaskError = (thrown: unknown) => GraphQLError

export const COMMENT = Buffer.from(':\n\n')
export const COMPLETE = Buffer.from('event: complete\ndata:\n\n')

export function encodeResult(result: ExecutionResult, mask: MaskError): Buffer {
  if (result.errors === undefined) return encode(result)
  return encode({ ...result, errors: result.errors.map((error) => withoutHttp(mask(error))) })
}

/** What ended a subscription before its end. */
export function encodeFailure(thrown: unknown, mask: MaskError): Buffer {
  return encode({ errors: [withoutHttp(mask(thrown))] })
}

function encode(result: object): Buffer {
  return Buffer.from(`event: next\ndata: ${JSON.stringify(result)}\n\n`)
}

/** What an error says of the status and the head of an answer is nothing for a stream. */
function withoutHttp(error: GraphQLError): object {
  const { extensions: { http: _, ...extensions } = {}, ...rest } = error.toJSON()
  return { ...rest, extensions }
}
