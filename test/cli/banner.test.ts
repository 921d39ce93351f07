import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { bannerText, type BannerFacts } from '../../server/cli/banner.js'

function readRoot(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
}
const version = /"version": "(.+?)"/.exec(readRoot('package.json'))?.[1] ?? ''
const first: BannerFacts = {
  version,
  nodeVersion: '20.20.2',
  readyMs: 2400,
  url: 'http://127.0.0.1:4000',
  agentsPath: 'examples/agents',
  development: true,
  info: {
    agents: ['hello', 'support'],
    models: ['scripted'],
    storage: { kind: 'embedded', location: '.perdure', sessions: 0, recovered: 0 },
  },
}

test('the README shows what the first start prints', () => {
  const shown = /```\n( perdure [\s\S]*?)```/.exec(readRoot('README.md'))?.[1]
  expect(shown).toBe(bannerText(first, { color: false }))
})

test('has at most 12 lines, also when everything is said', () => {
  const storage = { ...first.info.storage, recovered: 2 }
  const lines = (development: boolean) =>
    bannerText({ ...first, development, info: { ...first.info, storage } }, { color: false })
      .trimEnd()
      .split('\n')
  expect(lines(true)).toHaveLength(11)
  expect(lines(false)).toHaveLength(9)
})
