/** What the Dockerfile puts into the image, in a folder: its own build of the application, and exactly the paths that it copies. */
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { z } from 'zod'
import { DEPLOY } from './compose-file.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const WORKDIR = '/app/'

export interface Image {
  /** In place of the image's working directory. */
  readonly folder: string
  readonly command: readonly string[]
  /** The path that the image's own health check asks for. */
  readonly healthPath: string
  remove(): Promise<void>
}

export async function layOutImage(): Promise<Image> {
  const text = await readFile(`${DEPLOY}Dockerfile`, 'utf8')
  await promisify(execFile)('sh', ['-c', find(/^RUN (npx tsdown --config .*)$/m, text)], { cwd: ROOT })
  const folder = await mkdtemp(join(tmpdir(), 'perdure-image-'))
  for (const [, from = '', to = ''] of text.matchAll(/^COPY --from=build (\S+) (\S+)$/gm)) {
    if (!from.startsWith(WORKDIR)) throw new Error(`the Dockerfile copies ${from}, which is not under ${WORKDIR}`)
    const source = join(ROOT, from.slice(WORKDIR.length))
    if (to.endsWith('node_modules')) await symlink(source, join(folder, to))
    else await cp(source, join(folder, to), { recursive: true })
  }
  return {
    folder,
    command: z.array(z.string()).parse(JSON.parse(find(/^CMD (\[.*\])$/m, text))),
    healthPath: find(/PERDURE_PORT}(\/\w+)`/, text),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

function find(pattern: RegExp, text: string): string {
  const found = pattern.exec(text)?.[1]
  if (found === undefined) throw new Error(`the Dockerfile has nothing like ${String(pattern)}`)
  return found
}
