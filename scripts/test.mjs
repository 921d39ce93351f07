/** `npm test`: makes the working copy ready (the crash tests kill the built server), then becomes vitest. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT, withSetup } from './setup.mjs'

await withSetup({ build: true, snapshot: true }, async () => {
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
  process.argv = [process.execPath, vitest, 'run', ...process.argv.slice(2)]
  await import(pathToFileURL(vitest).href)
})
