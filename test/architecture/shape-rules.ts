import { basename, dirname } from 'node:path'
import type { Rule } from './rule.js'
import { functionsOf, isBarrel, readFiles } from './source-files.js'

const FILE_LINES = 250
const FUNCTION_LINES = 60
const FOLDER_DEPTH = 3
const STOPS = ['server/session/checkpoint.ts', 'server/session/next.ts', 'server/session/drive.ts', 'server/worker/slot.ts']
const STOPS_LINES = 500
const DRIVE_LINES = 80
const BARRELS = ['server/index.ts', 'sdk/index.ts']
const VAGUE = /^(utils?|helpers?|common|types?|interfaces?|misc|shared|constants?|lib)$/

const code = readFiles(['server', 'sdk', 'scripts', 'examples'], ['.ts', '.tsx', '.mjs', '.cjs'])
const tests = readFiles(['test'], ['.ts', '.mjs'])
const everything = [...code, ...tests]

export const shapeRules: readonly Rule[] = [
  {
    rule: `A file has at most ${FILE_LINES} lines.`,
    why: 'A file is read as a whole; more than that nobody holds in mind.',
    mend: 'Find the second thing that it does and give it a file with a name.',
    check: () => everything.filter(({ lines }) => lines > FILE_LINES).map(({ path, lines }) => `${path}: ${lines}`),
  },
  {
    rule: `A function has at most ${FUNCTION_LINES} lines.`,
    why: 'It fits a screen.',
    mend: 'Name a part of it and take it out.',
    check: () =>
      code.flatMap((file) =>
        functionsOf(file)
          .filter(({ lines }) => lines > FUNCTION_LINES)
          .map(({ name, lines }) => `${file.path}: ${name} has ${lines}`),
      ),
  },
  {
    rule: `Folders are at most ${FOLDER_DEPTH} deep.`,
    why: 'The tree tells the architecture; what is deeper is not seen.',
    mend: 'Put the file one level up and say in its name what the folder said.',
    check: () => everything.map(({ path }) => path).filter((path) => dirname(path).split('/').length > FOLDER_DEPTH),
  },
  {
    rule: 'Files are kebab-case and named for what they hold.',
    why: 'A name such as utils or types attracts everything and tells nothing.',
    mend: 'The noun of the thing or the verb of the function; what serves one file stands beside it.',
    check: () =>
      everything
        .map(({ path }) => path)
        .filter((path) => {
          const [name = ''] = basename(path).split('.')
          return !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) || VAGUE.test(name)
        }),
  },
  {
    rule: `The only files that pass on what others export are ${BARRELS.join(' and ')}.`,
    why: 'A barrel hides where things are, loads what nobody asked for and breeds cycles.',
    mend: 'Import from the file that has it.',
    check: () =>
      code.filter((file) => !BARRELS.includes(file.path) && !file.path.startsWith('examples/') && isBarrel(file)).map(({ path }) => path),
  },
  {
    rule: `The four stops of a newcomer (${STOPS.map((path) => basename(path)).join(', ')}) have under ${STOPS_LINES} lines together, and drive under ${DRIVE_LINES}.`,
    why: 'Whoever has read them can explain how a crash is survived; that has to stay an evening, not a week.',
    mend: 'Move what is not the idea itself into a file beside it.',
    check: () => {
      const stops = STOPS.map((path) => code.find((file) => file.path === path) ?? { path, text: '', lines: Number.NaN })
      const missing = stops.filter(({ lines }) => Number.isNaN(lines)).map(({ path }) => `${path} is missing`)
      const sum = stops.reduce((total, { lines }) => total + lines, 0)
      const drive = stops.flatMap(functionsOf).find(({ name }) => name === 'drive')
      return [
        ...missing,
        ...(sum >= STOPS_LINES ? [`together: ${sum}`] : []),
        ...(drive !== undefined && drive.lines < DRIVE_LINES ? [] : [`drive: ${drive?.lines ?? 'there is no such function'}`]),
      ]
    },
  },
]
