import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { bannerJson, bannerText, type BannerFacts } from '../../server/cli/banner.js'

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
    role: 'all',
    redis: null,
    storage: { kind: 'embedded', location: '.perdure', sessions: 0, recovered: 0 },
  },
}

test('the README shows what the first start prints', () => {
  const shown = /```\n( perdure [\s\S]*?)```/.exec(readRoot('README.md'))?.[1]
  expect(shown).toBe(bannerText(first, { color: false }))
})

describe('one of many processes', () => {
  const info = { ...first.info, redis: 'redis://:***@cache:6379', storage: { ...first.info.storage, kind: 'postgres' as const } }
  const shown = (role: 'all' | 'api' | 'worker') => bannerText({ ...first, info: { ...info, role } }, { color: false })

  test('says what it does, and which Redis it uses', () => {
    expect(shown('api')).toContain('Role       api: answers requests, drives no sessions\n')
    expect(shown('api')).toContain('GraphQL    http://127.0.0.1:4000/graphql')
    expect(shown('api')).toContain('Redis      redis://:***@cache:6379\n')
    expect(shown('all')).not.toContain('Role ')
  })

  test('that only drives sessions offers its probes, and nothing that it does not answer', () => {
    expect(shown('worker')).toContain('Probes     http://127.0.0.1:4000/readyz   /livez, /metrics\n')
    expect(shown('worker')).not.toMatch(/graphql|Access|Try it/i)
    const json = JSON.parse(bannerJson({ ...first, info: { ...info, role: 'worker' } }))
    expect(json).toMatchObject({ role: 'worker', graphql: null, ready: 'http://127.0.0.1:4000/readyz', redis: 'redis://:***@cache:6379' })
  })

  test('has at most 12 lines', () => {
    for (const role of ['all', 'api', 'worker'] as const) expect(shown(role).trimEnd().split('\n').length).toBeLessThanOrEqual(12)
  })
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
