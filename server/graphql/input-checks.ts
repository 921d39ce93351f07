/** What the types of the inputs cannot say. All that is wrong is told at once, each with its path; what is only too big is a limit. */
import { z } from 'zod'
import { isId } from '../ids.js'
import {
  MAX_ADDRESS,
  MAX_ADDRESSES,
  MAX_ANSWERS,
  MAX_HISTORY,
  MAX_KEY,
  MAX_METADATA_BYTES,
  MAX_REASON,
  MAX_TEXT,
  MAX_TITLE,
} from './limits.js'
import { invalidInput, limitExceeded, type InvalidInput, type LimitExceeded } from './problems.js'

const tooLong = (maximum: number, what: 'characters' | 'items') => `is too long; at most ${maximum} ${what} fit`
const limited = (maximum: number) => z.string().max(maximum, tooLong(maximum, 'characters'))
const optional = <Schema extends z.ZodType>(schema: Schema) => schema.nullish()

const sessionId = z.string().refine((id) => isId('ses', id), 'is no id of a session, which is ses_ and 26 letters and digits')
const turnId = z.string().refine((id) => isId('turn', id), 'is no id of a turn, which is turn_ and 26 letters and digits')
const address = limited(MAX_ADDRESS).regex(/^[^\s:]+:\S(.*\S)?$/, 'is no address; they are channel:value, e.g. slack:C042')
const text = limited(MAX_TEXT).refine((value) => value.trim() !== '', 'is empty; say something')
const title = limited(MAX_TITLE)
const idempotencyKey = limited(MAX_KEY).min(1, 'is empty; leave it out instead')
const metadata = z.looseObject({}).superRefine(withinBytes(MAX_METADATA_BYTES))

/** A check that the JSON of a value is not too long. */
function withinBytes(maximum: number) {
  return (value: unknown, context: z.core.$RefinementCtx): void => {
    const bytes = Buffer.byteLength(JSON.stringify(value))
    if (bytes <= maximum) return
    context.addIssue({ code: 'too_big', origin: 'string', maximum, message: `has ${bytes} bytes of JSON; at most ${maximum} fit` })
  }
}

const newSession = (maxAddresses: number) =>
  z.object({
    agent: z.string(),
    sessionTimeoutMs: optional(z.number().min(0, 'is negative; give milliseconds, or 0 for a session that may be idle for ever')),
    title: optional(title),
    metadata: optional(metadata),
    addresses: z.array(address).max(maxAddresses, tooLong(maxAddresses, 'items')),
    history: z.array(z.object({ text })).max(MAX_HISTORY, tooLong(MAX_HISTORY, 'items')),
  })
const sessionRef = z.object({ id: optional(sessionId), address: optional(address) })

const actor = z.object({
  id: limited(MAX_KEY).min(1, 'is empty; name the person'),
  name: optional(limited(MAX_KEY)),
  kind: z.string().refine((kind) => kind !== 'SYSTEM', 'cannot be SYSTEM, which is Perdure itself'),
})
const requestId = z.string().refine((id) => isId('req', id), 'is no id of a request, which is req_ and 26 letters and digits')
const answers = z
  .array(
    z.object({
      requestId,
      value: z.object({ text: optional(limited(MAX_TEXT)), json: optional(z.unknown().superRefine(withinBytes(MAX_TEXT))) }),
      reason: optional(limited(MAX_REASON)),
    }),
  )
  .superRefine((given, context) => {
    const refuse = (message: string, path: (string | number)[] = []) => context.addIssue({ code: 'custom', path, message })
    if (given.length === 0) refuse('is empty; answer at least one request')
    if (given.length > MAX_ANSWERS) refuse(`has ${given.length} items; at most ${MAX_ANSWERS} requests are answered at once`)
    const ids = given.map((answer) => answer.requestId)
    ids.forEach((id, index) => {
      if (ids.indexOf(id) < index) refuse('is answered twice; give one answer to each request', [index, 'requestId'])
    })
  })

const SCHEMAS = {
  createSession: z.object({ session: newSession(MAX_ADDRESSES), idempotencyKey: optional(idempotencyKey) }),
  send: z.object({
    to: z.object({
      session: optional(sessionId),
      // The address itself is one of those that the session would hold.
      address: optional(z.object({ address, create: optional(newSession(MAX_ADDRESSES - 1)) })),
      create: optional(newSession(MAX_ADDRESSES)),
    }),
    message: z.object({ text }),
    actor: optional(actor),
    idempotencyKey: optional(idempotencyKey),
  }),
  respond: z.object({ session: sessionRef, answers, actor: optional(actor), idempotencyKey: optional(idempotencyKey) }),
  cancel: z.object({ session: sessionRef, turnId: optional(turnId), idempotencyKey: optional(idempotencyKey) }),
  clear: z.object({ session: sessionRef, idempotencyKey: optional(idempotencyKey) }),
  compact: z.object({ session: sessionRef, instructions: optional(limited(MAX_TEXT)), idempotencyKey: optional(idempotencyKey) }),
  end: z.object({ session: sessionRef, reason: optional(limited(MAX_REASON)), idempotencyKey: optional(idempotencyKey) }),
  address: z.object({ session: sessionId, address }),
  updateSession: z.object({ session: sessionId, title: optional(title), metadata: optional(metadata) }),
} as const satisfies Readonly<Record<string, z.ZodType>>

/** Null when the input can be acted on. */
export function checkInput(name: keyof typeof SCHEMAS, input: unknown): InvalidInput | LimitExceeded | null {
  const { error } = SCHEMAS[name].safeParse(input)
  if (error === undefined) return null
  const issues = error.issues.map((issue) => ({ path: issue.path.map(String), message: issue.message }))
  const [first] = issues
  const [tooBig] = error.issues
  if (first === undefined || tooBig?.code !== 'too_big' || error.issues.some(({ code }) => code !== 'too_big')) return invalidInput(issues)
  const where = first.path.join('.')
  return limitExceeded(`${where}: ${first.message}`, `${where}: ${tooBig.maximum}`)
}
