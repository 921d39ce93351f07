import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test as base } from 'vitest'
import { isAgent } from '../../server/agents/define-agent.js'
import { loadAgents } from '../../server/agents/load-agents.js'
import { PerdureError } from '../../server/errors.js'
import * as perdure from '../../server/index.js'

const load = (path: string) => loadAgents(path, { perdure })

interface Author {
  /** Empty, and removed after the test. */
  readonly folder: string
  /** Writes files into the folder; gives the path of the first. */
  readonly write: (files: Readonly<Record<string, string>>) => Promise<string>
}
const test = base.extend<Author>({
  folder: async ({ task: _ }, use) => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'agents-')))
    await use(folder)
    await rm(folder, { recursive: true })
  },
  write: async ({ folder }, use) => {
    await use(async (files) => {
      for (const [name, text] of Object.entries(files)) {
        await mkdir(dirname(join(folder, name)), { recursive: true })
        await writeFile(join(folder, name), text)
      }
      return join(folder, Object.keys(files)[0] ?? '')
    })
  },
})

function agent(name: string, instructions = "'Greet.'"): string {
  return `defineAgent({ name: '${name}', model: 'openai/gpt-5-mini', instructions: ${instructions} })`
}
const IMPORT = "import { defineAgent } from 'perdure'\n"

async function namesOf(path: string): Promise<readonly string[]> {
  return (await load(path)).map(({ name }) => name)
}

async function failureOf(path: string): Promise<PerdureError> {
  const failure: unknown = await load(path).catch((thrown: unknown) => thrown)
  if (!(failure instanceof PerdureError)) throw new Error('expected a PerdureError', { cause: failure })
  expect(failure.code).toBe('AGENTS_FILE_INVALID')
  return failure
}

describe('a file', () => {
  test('of TypeScript gives its default export, an agent of this very process', async ({ write }) => {
    const agents = await load(await write({ 'a.ts': `${IMPORT}const name: string = 'x'\nexport default ${agent('hello')}` }))
    expect(agents.map(isAgent)).toEqual([true])
  })

  test.for(['a.js', 'a.mjs', 'a.mts'])('may be %s', async (name, { write }) => {
    expect(await namesOf(await write({ [name]: `${IMPORT}export default ${agent('hello')}` }))).toEqual(['hello'])
  })

  test('gives the agents of an array and those with a name, each once', async ({ write }) => {
    const text = `${IMPORT}export const one = ${agent('one')}\nexport const other = 7\nexport const three = ${agent('three')}\nexport default [one, ${agent('two')}]`
    expect([...(await namesOf(await write({ 'a.ts': text })))].sort()).toEqual(['one', 'three', 'two'])
  })

  test('may import others beside it, and await', async ({ write }) => {
    const path = await write({
      'a.ts': `${IMPORT}import { text } from './lib/text.js'\nconst told = await Promise.resolve(text)\nexport default ${agent('hello', 'told')}`,
      'lib/text.ts': "export const text: string = 'Hi.'",
    })
    expect((await load(path))[0]?.instructions).toBe('Hi.')
  })

  test('is read again when it is loaded again, with what it imports', async ({ write }) => {
    const path = await write({
      'a.ts': `${IMPORT}import { text } from './text.js'\nexport default ${agent('hello', 'text')}`,
      'text.ts': "export const text = 'one'",
    })
    expect((await load(path))[0]?.instructions).toBe('one')
    await write({ 'text.ts': "export const text = 'two'" })
    expect((await load(path))[0]?.instructions).toBe('two')
  })
})

describe('a folder', () => {
  test('gives the agents of every file in it, tests and declarations aside', async ({ folder, write }) => {
    await write({
      'b.ts': `${IMPORT}export default ${agent('b')}`,
      'a.js': `${IMPORT}export default ${agent('a')}`,
      'shared.ts': 'export const nothing = 1',
      'a.test.ts': "throw new Error('no')",
      'types.d.ts': 'export {}',
      'notes.md': '#',
    })
    expect(await namesOf(folder)).toEqual(['a', 'b'])
  })

  test('with an index gives what the index exports', async ({ folder, write }) => {
    await write({
      'index.ts': "export { a } from './a.js'",
      'a.ts': `${IMPORT}export const a = ${agent('a')}\nexport const b = ${agent('b')}`,
    })
    expect(await namesOf(folder)).toEqual(['a'])
  })

  test('loads a module that two files share once', async ({ folder, write }) => {
    await write({
      'a.ts': `${IMPORT}import { shared } from './lib/shared.js'\nexport default ${agent('a', 'shared')}`,
      'b.ts': `${IMPORT}import { shared } from './lib/shared.js'\nexport default ${agent('b', 'shared')}`,
      'lib/shared.ts': 'export const shared = () => String(Math.random())\n',
    })
    const [a, b] = await load(folder)
    expect(a?.instructions).toBe(b?.instructions)
  })
})

describe('what is wrong is said:', () => {
  test('no such file', async ({ folder }) => {
    expect(await failureOf(join(folder, 'nope.ts'))).toMatchObject({
      message: `there is no ${folder}/nope.ts`,
      hint: 'check the path, or create the file with an agent in it',
    })
  })

  test('a syntax error, with its place and the lines around it', async ({ write }) => {
    const path = await write({ 'a.ts': `${IMPORT}\nexport default defineAgent({\n  name: 'hello'\n  model: 'x/y',\n})\n` })
    const { message, hint } = await failureOf(path)
    expect(message).toBe(
      `${path}:5:3 has a syntax error: Unexpected token, expected ","\n\n  3 | export default defineAgent({\n  4 |   name: 'hello'\n> 5 |   model: 'x/y',\n    |   ^\n  6 | })`,
    )
    expect(hint).toBe('mend the line and start again')
  })

  test('a syntax error in a file that it imports', async ({ folder, write }) => {
    const path = await write({ 'a.ts': "import './b.js'", 'b.ts': 'const = 1' })
    expect((await failureOf(path)).message).toContain(`${folder}/b.ts:1:7 has a syntax error`)
  })

  test('a failure while it is loaded, at the author’s line', async ({ write }) => {
    const path = await write({
      'a.ts':
        "interface Key {\n  value: string\n}\nfunction readKey(): Key {\n  throw new Error('no key')\n}\nexport const key = readKey()\n",
    })
    const failure = await failureOf(path)
    expect(failure.message).toMatch(new RegExp(`^${path}:5:\\d+ failed while it was loaded: no key\n\n`))
    expect(failure.message).toContain("> 5 |   throw new Error('no key')")
    expect(failure.cause).toBeInstanceOf(Error)
  })

  test('a wrong definition, at the author’s line', async ({ write }) => {
    const path = await write({ 'a.ts': `${IMPORT}\nexport default ${agent('Hello')}` })
    const { message, hint } = await failureOf(path)
    expect(hint).toBe('mend the definition and start again')
    expect(message).toMatch(new RegExp(`^${path}:3:\\d+: "Hello" is no name for an agent; .*name: "hello"\n\n`))
    expect(message).toContain('> 3 | export default defineAgent(')
  })

  test('a column that the written line does not have is left out, as of code that was compiled to one longer line', async ({ write }) => {
    const text = "throw Object.assign(new Error('no'), { stack: `Error: no\\n    at ${__filename}:1:298` })"
    const path = await write({ 'a.js': text })
    expect((await failureOf(path)).message).toBe(`${path}:1 failed while it was loaded: no\n\n> 1 | ${text}`)
  })

  test('what is missing at the end of a line is marked behind its last character', async ({ write }) => {
    const path = await write({ 'a.ts': 'export default [' })
    expect((await failureOf(path)).message).toMatch(
      new RegExp(`^${path}:1:17 has a syntax error: .*\n\n> 1 \\| export default \\[\n    \\|                 \\^$`),
    )
  })

  test('an import of a file that is not there', async ({ folder, write }) => {
    const path = await write({ 'a.ts': "\nimport { text } from './text.js'\nexport default text" })
    expect(await failureOf(path)).toMatchObject({
      message: expect.stringMatching(new RegExp(`^${path}:2:\\d+ imports "./text.js", which is not there\n\n`)),
      hint: `check the path, seen from ${folder}`,
    })
  })

  test('an import of a package that is not installed', async ({ write }) => {
    expect((await failureOf(await write({ 'a.ts': "import '@left/behind/part'" }))).hint).toBe('npm install @left/behind')
  })

  test('no agent in it', async ({ write }) => {
    const path = await write({ 'a.ts': 'export const a = 1' })
    expect(await failureOf(path)).toMatchObject({
      message: `${path} exports no agent`,
      hint: expect.stringContaining('export default defineAgent('),
    })
  })

  test('an object that should have been an agent', async ({ write }) => {
    const path = await write({ 'a.ts': "export default { name: 'a', model: 'x/y', instructions: '' }" })
    expect(await failureOf(path)).toMatchObject({
      message: `${path}: its default export is no agent`,
      hint: expect.stringContaining('defineAgent('),
    })
    expect((await failureOf(await write({ 'b.ts': 'export default [7]' }))).message).toContain('item 0 of its default export is no agent')
  })

  test('two agents of one name, with their files', async ({ folder, write }) => {
    await write({ 'a.ts': `${IMPORT}export default ${agent('hello')}`, 'b.ts': `${IMPORT}export default ${agent('hello')}` })
    expect((await failureOf(folder)).message).toBe(`agent "hello" is defined in ${folder}/a.ts and in ${folder}/b.ts`)
  })

  test('a folder with nothing in it', async ({ folder }) => {
    expect((await failureOf(folder)).message).toBe(`${folder} has no .ts or .js file`)
  })

  test('anything thrown that is no error', async ({ write }) => {
    const path = await write({ 'a.ts': 'throw undefined' })
    expect((await failureOf(path)).message).toBe(`${path} failed while it was loaded: undefined`)
  })
})
