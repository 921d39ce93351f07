import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { findUnrunnable } from './test/services.js'

const root = fileURLToPath(new URL('.', import.meta.url))
const unrunnable = await findUnrunnable(root)
/** These kill real processes and wait for leases to run out: one at a time, with a budget of their own. */
const CRASH = 'test/crash/**/*.test.ts'
const EXCLUDED = ['**/node_modules/**', ...unrunnable]
/** In a package's `exports`: its TypeScript sources, so that tests need no build of it. */
const conditions = ['source', 'import', 'module', 'node', 'default']
const resolution = {
  resolve: { alias: { perdure: `${root}server/index.ts` }, conditions },
  ssr: { resolve: { conditions } },
}

export default defineConfig({
  test: {
    pool: 'forks',
    reporters: process.env['CI'] === undefined ? ['default'] : ['default', ['json', { outputFile: '.tmp/test-report.json' }]],
    projects: [
      {
        ...resolution,
        test: {
          name: 'fast',
          include: ['test/**/*.test.{ts,mjs}', 'sdk/**/*.test.ts'],
          exclude: [CRASH, ...EXCLUDED],
          testTimeout: 20_000,
          hookTimeout: 60_000,
        },
      },
      {
        ...resolution,
        test: { name: 'crash', include: [CRASH], exclude: EXCLUDED, fileParallelism: false, testTimeout: 120_000, hookTimeout: 60_000 },
      },
    ],
  },
})
