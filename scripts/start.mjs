/** `npm start`: makes the working copy ready, then becomes the server, in this same process so that signals reach it. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT, withSetup } from './setup.mjs'

const EXAMPLES = 'examples/agents'

await withSetup({ build: true }, async () => {
  const main = join(ROOT, 'dist/main.js')
  const args = process.argv.slice(2)
  const path = args[0] === undefined || args[0].startsWith('-') ? [EXAMPLES] : []
  process.argv = [process.execPath, main, 'start', ...path, ...args]
  await import(pathToFileURL(main).href)
})
