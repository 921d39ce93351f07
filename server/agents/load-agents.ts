/** Loads the files in which an author defines agents, TypeScript or JavaScript, as they are: no build, no restart. */
import { readdir, stat } from 'node:fs/promises'
import { join, resolve, sep } from 'node:path'
import { createJiti, type Jiti } from 'jiti'
import { PerdureError } from '../errors.js'
import { isAgent, type Agent } from './define-agent.js'
import { showPath, toLoadFailure } from './load-failure.js'

export interface LoadOptions {
  /** What `import … from 'perdure'` gives in those files: the module of this very process (server/index.ts), not a second copy of it. */
  readonly perdure: object
}

const EXTENSIONS = ['.ts', '.mts', '.js', '.mjs']
const NOT_AGENTS = /(\.d\.m?ts|\.(test|spec)\.m?[jt]s)$/
const EXAMPLE = "export default defineAgent({ name: 'hello', model: 'openai/gpt-5-mini', instructions: 'You greet people.' })"

/**
 * The agents of a module (its default export, an agent or an array of them, and every other export that is one) or of a folder (its
 * index file, else each file in it). Loading again reads the files again. Throws PerdureError AGENTS_FILE_INVALID: no such file, a
 * syntax error, a failure while loading, no agent, two of one name.
 */
export async function loadAgents(path: string, { perdure }: LoadOptions): Promise<readonly Agent[]> {
  const root = resolve(path)
  const jiti = createJiti(join(root, sep), {
    interopDefault: false,
    sourceMaps: true,
    virtualModules: { perdure },
  })
  const loaded = new Map<string, Found>()
  for (const { file, module } of await importFresh(jiti, await findFiles(root))) {
    for (const agent of readExports(file, module)) addAgent(loaded, { agent, file })
  }
  if (loaded.size === 0) throw invalid(`${showPath(root)} exports no agent`, EXAMPLE)
  return [...loaded.values()].map(({ agent }) => agent)
}

interface Found {
  readonly agent: Agent
  readonly file: string
}

function addAgent(loaded: Map<string, Found>, found: Found): void {
  const { name } = found.agent
  const earlier = loaded.get(name)
  if (earlier?.agent === found.agent) return
  if (earlier !== undefined) {
    const where =
      earlier.file === found.file ? `twice in ${showPath(found.file)}` : `in ${showPath(earlier.file)} and in ${showPath(found.file)}`
    throw invalid(`agent "${name}" is defined ${where}`, 'give one of them another name')
  }
  loaded.set(name, found)
}

async function findFiles(root: string): Promise<readonly string[]> {
  const kind = await kindOf(root)
  if (kind === 'file') return [root]
  if (kind === null) throw invalid(`there is no ${showPath(root)}`, 'check the path, or create the file with an agent in it')
  const names = (await readdir(root)).sort().filter((name) => EXTENSIONS.some((end) => name.endsWith(end)) && !NOT_AGENTS.test(name))
  if (names.length === 0) throw invalid(`${showPath(root)} has no .ts or .js file`, 'put a file with an agent in it')
  const index = EXTENSIONS.map((end) => `index${end}`).find((name) => names.includes(name))
  return (index === undefined ? names : [index]).map((name) => join(root, name))
}

async function kindOf(path: string): Promise<'file' | 'folder' | null> {
  try {
    return (await stat(path)).isDirectory() ? 'folder' : 'file'
  } catch {
    return null
  }
}

interface Imported {
  readonly file: string
  readonly module: unknown
}

/**
 * Imports files, and what they import, as they are on disk now. A module that several of them import is one instance: modules are
 * cached while this runs, and the author's are forgotten after it.
 */
async function importFresh(jiti: Jiti, files: readonly string[]): Promise<readonly Imported[]> {
  const before = new Set(Object.keys(jiti.cache))
  const imported: Imported[] = []
  try {
    for (const file of files) imported.push({ file, module: await importFile(jiti, file) })
    return imported
  } finally {
    for (const key of Object.keys(jiti.cache)) {
      if (!before.has(key) && !key.includes(`${sep}node_modules${sep}`)) Reflect.deleteProperty(jiti.cache, key)
    }
  }
}

async function importFile(jiti: Jiti, file: string): Promise<unknown> {
  try {
    return await jiti.import(file)
  } catch (thrown) {
    throw toLoadFailure(file, thrown)
  }
}

function readExports(file: string, module: unknown): readonly Agent[] {
  if (typeof module !== 'object' || module === null) return []
  return Object.entries(module).flatMap(([name, value]: [string, unknown]) =>
    name === 'default' ? readDefault(file, value) : readNamed(value),
  )
}

function readNamed(value: unknown): readonly Agent[] {
  return isAgent(value) ? [value] : []
}

function readDefault(file: string, value: unknown): readonly Agent[] {
  if (!Array.isArray(value)) return isAgent(value) ? [value] : refusePlain(file, 'its default export', value)
  return value.flatMap((item: unknown, index) =>
    isAgent(item) ? [item] : refusePlain(file, `item ${String(index)} of its default export`, item, true),
  )
}

/** An object that looks like an agent, or anything in an array, was meant to be one; other default exports are the author's business. */
function refusePlain(file: string, what: string, value: unknown, always = false): readonly Agent[] {
  const looksLikeOne = typeof value === 'object' && value !== null && 'name' in value && 'instructions' in value
  if (!always && !looksLikeOne) return []
  throw invalid(`${showPath(file)}: ${what} is no agent`, 'wrap it: defineAgent({ name, model, instructions })')
}

function invalid(sentence: string, hint: string): PerdureError {
  return new PerdureError('AGENTS_FILE_INVALID', sentence, { hint })
}
