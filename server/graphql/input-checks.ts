/** What the types of the inputs cannot say. All that is wrong is told at once, each with its path; what is only too big is a limit. */
import { z } from 'zod'
import { isId } from '../ids.js'
import { MAX_ADDRESS, MAX_ADDRESSES, MAX_HISTORY, MAX_KEY, MAX_METADATA_BYTES, MAX_REASON, MAX_TEXT, MAX_TITLE } from './limits.js'
import { invalidInput, limitExceeded, type InvalidInput, type LimitExceeded } from './problems.js'

const optional = <Schema extends z.ZodType>(schema: Schema) => schema.nullish()

const sessionId = z.string().refine((id) => isId('ses', id), 'is no id of a session; they begin with ses_')
const turnId = z.string().refine((id) => isId('turn', id), 'is no id of a turn; they begin with turn_')
const address = z
  .string()
  .regex(/^[^\s:]+:\S(.*\S)?$/, 'is no address; they are channel:value, e.g. slack:C042')
  .max(MAX_ADDRESS)
const text = z
  .string()
  .refine((value) => value.trim() !== '', 'is empty; say something')
  .max(MAX_TEXT)
const title = z.string().max(MAX_TITLE)
const idempotencyKey = z.string().min(1, 'is empty; leave it out instead').max(MAX_KEY)
const metadata = z.looseObject({}).superRefine((value, context) => {
  const bytes = Buffer.byteLength(JSON.stringify(value))
  if (bytes <= MAX_METADATA_BYTES) return
  context.addIssue({
    code: 'too_big',
    origin: 'string',
    maximum: MAX_METADATA_BYTES,
    message: `has ${bytes} bytes of JSON; at most ${MAX_METADATA_BYTES} fit`,
  })
})

const newSession = z.object({
  agent: z.string(),
  title: optional(title),
  metadata: optional(metadata),
  addresses: z.array(address).max(MAX_ADDRESSES),
  history: z.array(z.object({ text })).max(MAX_HISTORY),
})
const sessionRef = z.object({ id: optional(sessionId), address: optional(address) })

const SCHEMAS = {
  createSession: z.object({ session: newSession, idempotencyKey: optional(idempotencyKey) }),
  send: z.object({
    to: z.object({
      session: optional(sessionId),
      address: optional(z.object({ address, create: optional(newSession) })),
      create: optional(newSession),
    }),
    message: z.object({ text }),
    idempotencyKey: optional(idempotencyKey),
  }),
  cancel: z.object({ session: sessionRef, turnId: optional(turnId), idempotencyKey: optional(idempotencyKey) }),
  end: z.object({ session: sessionRef, reason: optional(z.string().max(MAX_REASON)), idempotencyKey: optional(idempotencyKey) }),
  updateSession: z.object({ session: sessionId, title: optional(title), metadata: optional(metadata) }),
  sessionRef,
} as const satisfies Readonly<Record<string, z.ZodType>>

/** Null when the input can be acted on. */
export function checkInput(name: keyof typeof SCHEMAS, input: unknown): InvalidInput | LimitExceeded | null {
  const { error } = SCHEMAS[name].safeParse(input)
  if (error === undefined) return null
  const issues = error.issues.map((issue) => ({ path: issue.path.map(String), message: toSentence(issue) }))
  const [first] = issues
  const [tooBig] = error.issues
  if (first === undefined || tooBig?.code !== 'too_big' || error.issues.some(({ code }) => code !== 'too_big')) return invalidInput(issues)
  const where = first.path.join('.')
  return limitExceeded(`${where}: ${first.message}`, `${where}: ${tooBig.maximum}`)
}

function toSentence(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'too_big' || (issue.origin === 'string' && issue.message.startsWith('has '))) return issue.message
  return `is too long; at most ${issue.maximum} ${issue.origin === 'array' ? 'items' : 'characters'} fit`
}
