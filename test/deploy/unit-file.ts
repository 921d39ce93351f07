/** The template units of examples/deploy/systemd as systemd reads them, as far as the tests need. */
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { parseEnv } from 'node:util'
import { DEPLOY, type Variables } from './compose-file.js'

export interface Unit {
  readonly command: readonly string[]
  /** What has to answer before the unit counts as started. */
  readonly readyUrl: string
  readonly environment: Variables
  readonly stopTimeoutMs: number
}

/** `edits` stands for what the operator writes into the environment file. */
export async function readUnit(role: 'api' | 'worker', instance: number, edits: Variables): Promise<Unit> {
  const text = await readFile(`${DEPLOY}systemd/perdure-${role}@.service`, 'utf8')
  const settings = [...text.replaceAll('%i', String(instance)).matchAll(/^(\w+)=(.*)$/gm)].map(
    ([, key = '', value = '']) => [key, value] as const,
  )
  const all = (name: string): readonly string[] => settings.flatMap(([key, value]) => (key === name ? [value] : []))
  const one = (name: string): string => {
    const [value, ...more] = all(name)
    if (value === undefined || more.length > 0) throw new Error(`perdure-${role}@.service needs ${name} once`)
    return value
  }
  const own = all('Environment').flatMap((line) =>
    [...line.matchAll(/(\w+)=(\S*)/g)].map(([, name = '', value = '']) => [name, value] as const),
  )
  // A file wins over the unit's own lines.
  const environment: Variables = { ...Object.fromEntries(own), ...(await readEnvironmentFile(one('EnvironmentFile'))), ...edits }
  const unset = new Set(all('UnsetEnvironment').flatMap((line) => line.split(' ')))
  return {
    command: one('ExecStart').split(' '),
    readyUrl: one('ExecStartPost').split(' ').at(-1) ?? '',
    environment: Object.fromEntries(Object.entries(environment).filter(([name]) => !unset.has(name))),
    stopTimeoutMs: Number(one('TimeoutStopSec')) * 1000,
  }
}

/** The file that the unit names is installed from the one of the same name beside it. */
async function readEnvironmentFile(path: string): Promise<Variables> {
  const parsed = parseEnv(await readFile(`${DEPLOY}systemd/${basename(path)}`, 'utf8'))
  return Object.fromEntries(Object.entries(parsed).map(([name, value]) => [name, value ?? '']))
}
