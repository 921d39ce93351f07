import { defineConfig } from 'tsdown'

/** The application alone, agents included: what it takes from packages, Perdure itself among them, stays where npm put it. */
export default defineConfig({
  entry: 'server.ts',
  format: 'esm',
  fixedExtension: false,
  platform: 'node',
  target: 'node20',
  dts: false,
  sourcemap: true,
  clean: false,
  deps: { neverBundle: [/^[^./]/] },
})
