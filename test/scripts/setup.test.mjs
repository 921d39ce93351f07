import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { fingerprint } from '../../scripts/fingerprint.mjs'
import { explainInstallFailure } from '../../scripts/install-failure.mjs'
import { isInstalled, ROOT } from '../../scripts/setup.mjs'
import { countTests } from '../../scripts/test-report.mjs'

let root
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'perdure-setup-'))
})
afterEach(() => {
  rmSync(root, { recursive: true })
})

function write(path, content) {
  mkdirSync(join(root, path, '..'), { recursive: true })
  writeFileSync(join(root, path), typeof content === 'string' ? content : JSON.stringify(content))
}

describe('dependencies', () => {
  const a = { version: '1.0.0', integrity: 'sha512-a' }
  const wanted = (packages) => write('package-lock.json', { packages: { '': { name: 'perdure' }, sdk: { version: '1.0.0' }, ...packages } })
  const present = (packages) => write('node_modules/.package-lock.json', { packages })

  test('are missing before the first install', () => {
    wanted({ 'node_modules/a': a })
    expect(isInstalled(root)).toBe(false)
  })

  test('are there when every wanted package is, and what is left out is optional', () => {
    wanted({ 'node_modules/a': a, 'node_modules/fsevents': { version: '2.0.0', optional: true } })
    present({ 'node_modules/a': a })
    expect(isInstalled(root)).toBe(true)
  })

  test.each([
    ['another version', { 'node_modules/a': { ...a, version: '1.0.1' } }],
    ['another content', { 'node_modules/a': { ...a, integrity: 'sha512-b' } }],
    ['a new package', { 'node_modules/a': a, 'node_modules/b': a }],
  ])('are stale when the lock wants %s', (_, packages) => {
    wanted(packages)
    present({ 'node_modules/a': a })
    expect(isInstalled(root)).toBe(false)
  })
})

describe('a fingerprint', () => {
  test('follows content and names, not times, order or what tools make', () => {
    write('src/a.ts', 'a')
    write('src/deep/b.ts', 'b')
    const before = fingerprint(root, ['src', 'absent'])
    utimesSync(join(root, 'src/a.ts'), 1, 1)
    write('src/generated/c.ts', 'c')
    expect(fingerprint(root, ['src', 'absent'])).toBe(before)
    write('src/a.ts', 'changed')
    const changed = fingerprint(root, ['src', 'absent'])
    expect(changed).not.toBe(before)
    write('absent', '')
    expect(fingerprint(root, ['src', 'absent'])).not.toBe(changed)
  })
})

describe('a failed install is one sentence', () => {
  test.each([
    ['npm error code ECONNREFUSED\nnpm error syscall connect', 'The npm registry http://r/ did not answer (ECONNREFUSED)'],
    ['npm error code EAI_AGAIN', 'did not answer (EAI_AGAIN)'],
    ['npm error code E503\nnpm error 503 Service Unavailable', 'did not answer (E503)'],
    ['npm error code E401', 'refused to hand out the dependencies (E401)'],
    ['npm error code ETARGET\nnpm error notarget No matching version found for x@9', 'No matching version found for x@9'],
    ['npm error code ENOSPC', 'The disk is full'],
    ['npm error code EUSAGE\nnpm error lock file out of sync', 'lock file out of sync'],
  ])('%j', (output, sentence) => {
    expect(explainInstallFailure(output, 'http://r/')).toContain(sentence)
  })
})

describe('Node', () => {
  const check = (version) => {
    const pretend = `Object.defineProperty(process.versions, 'node', { value: '${version}' }); Object.defineProperty(process, 'version', { value: 'v${version}' })`
    write('pretend.cjs', pretend)
    const preloads = ['-r', join(root, 'pretend.cjs'), '-r', join(ROOT, 'scripts/check-node.cjs')]
    return spawnSync(process.execPath, [...preloads, '-e', ''], { encoding: 'utf8' })
  }

  test.each(['0.12.18', '8.17.0', '18.20.0', '20.18.3'])('%s is too old, in one sentence', (version) => {
    const { status, stderr } = check(version)
    expect(stderr).toBe(`Perdure needs Node 20.19 or newer; this is v${version}. See https://nodejs.org\n`)
    expect(status).toBe(1)
  })

  test.each(['20.19.0', '22.0.0', '100.1.0'])('%s is new enough', (version) => {
    expect(check(version)).toMatchObject({ status: 0, stderr: '' })
  })

  test('the entry of the server asks for the version that package.json names', () => {
    const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    const [major, minor] = engines.node.match(/\d+/g)
    const entry = readFileSync(join(ROOT, 'server/main.ts'), 'utf8')
    expect(entry).toContain(`major < ${major} || (major === ${major} && minor < ${minor})`)
  })
})

describe('the counts of a test run', () => {
  const report = (testResults, counts) => write('report.json', { testResults, numPassedTests: 0, numFailedTests: 0, ...counts })
  const path = () => join(root, 'report.json')

  test('no report is one failure', () => {
    expect(countTests(path(), true)).toEqual({ passed: 0, failed: 1, skipped: [] })
  })

  test('a file that could not be loaded, and an error outside of the tests, are one each', () => {
    report([{ status: 'failed', assertionResults: [] }], { numPassedTests: 4 })
    expect(countTests(path(), false)).toMatchObject({ passed: 4, failed: 1 })
    report([{ status: 'passed', assertionResults: [] }], { numPassedTests: 4 })
    expect(countTests(path(), false)).toMatchObject({ passed: 4, failed: 1 })
    expect(countTests(path(), true)).toMatchObject({ passed: 4, failed: 0 })
  })

  test('failed and skipped tests are told apart', () => {
    const assertionResults = [
      { status: 'failed', fullName: 'a' },
      { status: 'skipped', fullName: 'b' },
    ]
    report([{ status: 'failed', assertionResults }], { numFailedTests: 1 })
    expect(countTests(path(), false)).toEqual({ passed: 0, failed: 1, skipped: ['b'] })
  })
})
