import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'tsdown'
import { afterAll, beforeAll, expect, it } from 'vitest'

const run = promisify(execFile)
const MAX_GZIPPED = 20_000
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-sdk-'))
  await build({ cwd: resolve('sdk'), config: resolve('sdk/tsdown.config.ts'), outDir: folder, logLevel: 'warn' })
}, 120_000)
afterAll(() => rm(folder, { recursive: true, force: true }))

it('the built package is one small file without imports', async () => {
  const code = await readFile(join(folder, 'index.js'), 'utf8')
  expect(code.match(/^import\b.*|\bimport\(.*|\brequire\(.*/gm)).toBeNull()
  expect(code).not.toMatch(/\bprocess\b|\bBuffer\b/)
  expect(gzipSync(code).length).toBeLessThan(MAX_GZIPPED)
  const types = await readFile(join(folder, 'index.d.ts'), 'utf8')
  expect(types.match(/\bany\b(?=[;,)>\]| ]*[;,)>\]])/g)).toBeNull()
  expect(types).toContain('/** Delivers a message.')
})

it('it runs in an empty folder, without anything installed', async () => {
  const script = `
    import { createClient, NotFoundError, PerdureError, toMessages } from './index.js'
    const client = createClient({ url: 'http://localhost:1/graphql' })
    if (client.session('ses_1').id !== 'ses_1' || toMessages([]).messages.length !== 0) throw new Error('broken')
    console.log(new NotFoundError({ code: 'NOT_FOUND', message: 'gone', __typename: 'NotFoundError', id: null }) instanceof PerdureError)`
  await writeFile(join(folder, 'use.mjs'), script)
  expect((await run(process.execPath, ['use.mjs'], { cwd: folder })).stdout).toBe('true\n')
})

it('its types stand on their own, and tell events and results apart', async () => {
  const script = `
    import { createClient, type SessionEvent, type TurnResult } from './index.js'
    const client = createClient({ url: '', token: async () => 't' })
    export function tell(event: SessionEvent): string | number {
      switch (event.type) {
        case 'LLM_CHUNK': return event.text
        case 'TURN_STARTED': return event.number
        default: return event.cursor
      }
    }
    export function judge(result: TurnResult): string {
      switch (result.status) {
        case 'completed': return result.text
        case 'failed': return result.error?.code ?? ''
        case 'waiting': return result.requests[0]?.prompt ?? ''
        case 'cancelled': case 'rejected': return result.reason ?? ''
      }
    }
    export const turn = client.agent('a').send('hello')
    // @ts-expect-error a rejected message has no text
    export const text = async (): Promise<string> => (await turn.result()).text`
  await writeFile(join(folder, 'use.ts'), script)
  const options = ['--noEmit', '--strict', '--target', 'es2023', '--module', 'nodenext', '--lib', 'es2023,dom,dom.iterable']
  const tsc = resolve('node_modules/typescript/bin/tsc')
  const compiled = await run(process.execPath, [tsc, ...options, 'use.ts'], { cwd: folder }).catch((error: unknown) => error)
  expect(compiled).toMatchObject({ stdout: '' })
})
