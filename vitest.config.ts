import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { findUnrunnable } from './test/services.js'

const root = fileURLToPath(new URL('.', import.meta.url))
const unrunnable = await findUnrunnable(root)
/** These start and kill real processes, and some measure: one at a time, with a budget of their own. */
const CRASH = ['test/crash/**/*.test.ts', 'test/deploy/deploy.test.ts', 'test/bench/{run,services}.test.ts']
const EXCLUDED = ['**/node_modules/**', ...unrunnable]
const resolution = {
  resolve: {
    alias: [
      // The sources, so that tests need no build of them.
      { find: 'perdure', replacement: `${root}server/index.ts` },
      { find: '@perdure/sdk', replacement: `${root}sdk/index.ts` },
      // The copy that Node gives to packages: with the other one beside it no type would be an instance of its class.
      { find: /^graphql$/, replacement: `${root}node_modules/graphql/index.js` },
    ],
  },
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
          exclude: [...CRASH, ...EXCLUDED],
          testTimeout: 20_000,
          hookTimeout: 60_000,
        },
      },
      {
        ...resolution,
        test: { name: 'crash', include: CRASH, exclude: EXCLUDED, fileParallelism: false, testTimeout: 120_000, hookTimeout: 120_000 },
      },
    ],
  },
})
