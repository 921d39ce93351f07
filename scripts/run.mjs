/** Makes the working copy ready, then runs a TypeScript file of it from the sources: `npm run example FILE`, `npm run bench`. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT, withSetup } from './setup.mjs'

await withSetup({ build: true }, async () => {
  const tsx = join(ROOT, 'node_modules/tsx/dist/cli.mjs')
  process.argv = [process.execPath, tsx, '--conditions=source', ...process.argv.slice(2)]
  await import(pathToFileURL(tsx).href)
})
