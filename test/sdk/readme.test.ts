import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import ts from 'typescript'
import { expect, it } from 'vitest'

const README = 'sdk/README.md'

it('every example of the README compiles', async () => {
  const blocks = [...(await readFile(README, 'utf8')).matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1] ?? '')
  expect(blocks.length).toBeGreaterThan(3)
  const files = new Map(blocks.map((block, at) => [resolve(`sdk/readme-${at}.ts`), block.replace("'@perdure/sdk'", "'./index.js'")]))
  const { config } = ts.readConfigFile('tsconfig.json', (path) => ts.sys.readFile(path)) as { config: unknown }
  const { options } = ts.parseJsonConfigFileContent(config, { ...ts.sys, readDirectory: () => [] }, '.')
  const host = ts.createCompilerHost({ ...options, incremental: false })
  const onDisk = { fileExists: host.fileExists.bind(host), readFile: host.readFile.bind(host) }
  host.fileExists = (path) => files.has(path) || onDisk.fileExists(path)
  host.readFile = (path) => files.get(path) ?? onDisk.readFile(path)
  const program = ts.createProgram([...files.keys()], { ...options, incremental: false, noEmit: true }, host)
  const problems = ts.getPreEmitDiagnostics(program).map((problem) => ts.flattenDiagnosticMessageText(problem.messageText, '\n'))
  expect(problems).toEqual([])
}, 60_000)
