import { readFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { generate } from '@graphql-codegen/cli'
import { buildSchema, isEnumType, isInterfaceType } from 'graphql'
import { expect, it } from 'vitest'
import config from '../../codegen.js'
import { FAILURE_CODES, isFailureCode } from '../../sdk/failure-codes.js'
import { toSessionEvent } from '../../sdk/session-events.js'

const schema = buildSchema(await readFile('schema.graphql', 'utf8'))

it('sdk/generated is what the schema and the operations give; npm run codegen writes it', async () => {
  const files: readonly { readonly filename: string; readonly content: string }[] = await generate({ ...config, silent: true }, false)
  expect(files.map(({ filename }) => relative('.', filename)).sort()).toEqual([
    'sdk/generated/documents.ts',
    'sdk/generated/operations.ts',
    'sdk/generated/session-events.ts',
  ])
  for (const { filename, content } of files) expect(await readFile(filename, 'utf8'), filename).toBe(content)
})

it('each type of the log has its own type of event, named alike', async () => {
  const [types, event] = [schema.getType('SessionEventType'), schema.getType('SessionEvent')]
  if (!isEnumType(types) || !isInterfaceType(event)) throw new Error('the schema has no session events')
  const generated = await readFile('sdk/generated/session-events.ts', 'utf8')
  const written = [...generated.matchAll(/readonly type: '(\w+)'/g)].map((match) => match[1])
  expect(written.sort()).toEqual(
    types
      .getValues()
      .map((value) => value.name)
      .sort(),
  )
  expect(written).toHaveLength(schema.getPossibleTypes(event).length)
})

it('a field that had to be selected under an alias has its own name again', () => {
  const selected = { __typename: 'TurnFailed', type: 'TURN_FAILED', cursor: '4', reason_TurnFailed: 'x', error: null }
  expect(toSessionEvent(selected)).toEqual({ __typename: 'TurnFailed', type: 'TURN_FAILED', cursor: '4', reason: 'x', error: null })
})

it('the failures that the engine raises have codes that the SDK knows', async () => {
  const raised = (await readFile('server/session/failures.ts', 'utf8')).matchAll(/(?:failure\(|CALL_DENIED = )\s*'([A-Z_]+)'/g)
  const codes = [...raised].map(([, code = '']) => code)
  expect(codes.length).toBeGreaterThan(20)
  expect(codes.filter((code) => !isFailureCode(code))).toEqual([])
})

it('failure codes are distinct and upper case', () => {
  expect(new Set(FAILURE_CODES).size).toBe(FAILURE_CODES.length)
  expect(FAILURE_CODES.filter((code) => !/^[A-Z_]+$/.test(code))).toEqual([])
})
