/** `npm run dev`: the server from its sources, started again whenever one of them or an example agent changes. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT, withSetup } from './setup.mjs'

await withSetup({}, async () => {
  const tsx = join(ROOT, 'node_modules/tsx/dist/cli.mjs')
  const watched = ['--clear-screen=false', '--include', 'examples/agents/**/*', '--include', '.env']
  process.argv = [process.execPath, tsx, 'watch', ...watched, 'server/main.ts', 'start', 'examples/agents', ...process.argv.slice(2)]
  await import(pathToFileURL(tsx).href)
})
