/** examples/deploy/compose.yaml as Docker Compose reads it, as far as the tests need: variables filled in, merged keys merged. */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { z } from 'zod'

export const DEPLOY = fileURLToPath(new URL('../../examples/deploy/', import.meta.url))

const serviceSchema = z.object({
  image: z.string(),
  /** Absent: what the image says. */
  command: z.array(z.string()).default([]),
  environment: z.record(z.string(), z.coerce.string()).default({}),
  init: z.boolean().default(false),
  restart: z.string(),
  stop_grace_period: z
    .string()
    .regex(/^\d+s$/)
    .default('10s'),
  ports: z.array(z.string()).default([]),
})
export type Service = z.infer<typeof serviceSchema>

export type Variables = Readonly<Record<string, string>>

/** The services by name, in the order of the file. A variable that the file requires and that is not given is an error, as it is for Compose. */
export async function readComposeFile(variables: Variables): Promise<ReadonlyMap<string, Service>> {
  const file: unknown = parse(await readFile(`${DEPLOY}compose.yaml`, 'utf8'), { merge: true })
  const { services } = z.object({ services: z.record(z.string(), serviceSchema) }).parse(fillIn(file, variables))
  return new Map(Object.entries(services))
}

function fillIn(value: unknown, variables: Variables): unknown {
  if (typeof value === 'string') return value.replaceAll(/\$\{(\w+)(?:(:[-?])([^}]*))?\}/g, (...parts) => look(parts, variables))
  if (Array.isArray(value)) return value.map((each) => fillIn(each, variables))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fillIn(each, variables)]))
}

/** `${NAME}`, `${NAME:-fallback}`, `${NAME:?what is missing}`. */
function look([, name = '', operator, text = '']: readonly string[], variables: Variables): string {
  const value = variables[name] ?? ''
  if (value !== '' || operator === undefined) return value
  if (operator === ':-') return text
  throw new Error(`compose.yaml requires ${name}: ${text}`)
}
