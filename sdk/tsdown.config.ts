import { defineConfig } from 'tsdown'

/** One file without imports, for every runtime that has `fetch`, and its types. */
export default defineConfig({
  entry: { index: 'index.ts' },
  outDir: 'dist',
  format: 'esm',
  platform: 'neutral',
  target: 'es2023',
  dts: true,
  // The types have them; engines do not read them.
  outputOptions: { comments: { jsdoc: false } },
  clean: true,
  copy: ['../schema.graphql'],
})
