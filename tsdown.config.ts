import { defineConfig } from 'tsdown'

/** One output file for each source file, so that dist/ has the folders of server/ and files beside a module are found from it. */
export default defineConfig({
  entry: ['server/main.ts', 'server/index.ts'],
  unbundle: true,
  format: 'esm',
  fixedExtension: false,
  platform: 'node',
  target: 'node20',
  dts: false,
  sourcemap: true,
  clean: true,
  copy: [{ from: 'server/coordination/lua', to: 'dist/coordination' }],
})
