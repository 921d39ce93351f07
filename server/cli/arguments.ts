import { parseArgs } from 'node:util'
import { closestName } from '../session/closest-name.js'
import {
  COMMANDS,
  COMMAND_NAMES,
  COMMON_FLAGS,
  flagsOf,
  isCommandName,
  type CommandName,
  type Flag,
  type RunnableName,
} from './commands.js'

/** What the command line asks for. `usage`: it cannot be understood; `line` is the whole of it, corrected, or the way to the help. */
export type Request =
  | { readonly kind: 'run'; readonly command: RunnableName; readonly argument: string | null; readonly flags: FlagValues }
  | { readonly kind: 'help'; readonly command: CommandName | null }
  | { readonly kind: 'version' }
  | { readonly kind: 'usage'; readonly message: string; readonly line: readonly string[] }

export interface FlagValues {
  readonly json: boolean
  readonly verbose: boolean
  /** Flags with a value, as written. */
  readonly values: Readonly<Record<string, string>>
}

type Token = ReturnType<typeof tokenize>[number]
type OptionToken = Extract<Token, { kind: 'option' }>

/** Understands the words after the program's name. */
export function parseCommandLine(words: readonly string[]): Request {
  const [first, ...rest] = words
  if (first === undefined) return { kind: 'help', command: null }
  if (first.startsWith('-')) return parseBare(words)
  if (!isCommandName(first)) {
    const meant = closestName(first, COMMAND_NAMES)
    return { kind: 'usage', message: `There is no command "${first}".`, line: meant === null ? ['help'] : [meant, ...rest] }
  }
  return parseCommand(first, rest)
}

/** Flags without a command: help, version, or a start without the word. */
function parseBare(words: readonly string[]): Request {
  for (const token of tokenize(words, COMMON_FLAGS)) {
    if (token.kind === 'option' && token.name === 'help') return { kind: 'help', command: null }
    if (token.kind === 'option' && token.name === 'version') return { kind: 'version' }
  }
  return { kind: 'usage', message: 'A command comes first.', line: ['start', ...words] }
}

function parseCommand(command: CommandName, words: readonly string[]): Request {
  const flags = flagsOf(command)
  const tokens = tokenize(words, flags)
  const options = tokens.filter((token) => token.kind === 'option')
  if (options.some((token) => token.name === 'help')) return { kind: 'help', command }
  if (options.some((token) => token.name === 'version')) return { kind: 'version' }
  for (const token of options) {
    const message = faultOf(token, flags)
    if (message !== null) return { kind: 'usage', message, line: [command, ...correct(words, token, flags)] }
  }
  const names = tokens.filter((token) => token.kind === 'positional')
  const extra = names[COMMANDS[command].argument === null ? 0 : 1]
  if (extra !== undefined) {
    return { kind: 'usage', message: `"${extra.value}" is one word too many.`, line: [command, ...words.toSpliced(extra.index, 1)] }
  }
  const argument = names[0]?.value ?? null
  return command === 'help' ? parseHelp(argument) : { kind: 'run', command, argument, flags: collect(options) }
}

function parseHelp(about: string | null): Request {
  if (about === null) return { kind: 'help', command: null }
  if (isCommandName(about)) return { kind: 'help', command: about }
  const meant = closestName(about, COMMAND_NAMES)
  return { kind: 'usage', message: `There is no command "${about}".`, line: meant === null ? ['help'] : ['help', meant] }
}

function tokenize(words: readonly string[], flags: Readonly<Record<string, Flag>>) {
  const options = Object.entries(flags).map(([name, flag]) => {
    const type = flag.value === null ? ('boolean' as const) : ('string' as const)
    return [name, flag.short === undefined ? { type } : { type, short: flag.short }] as const
  })
  return parseArgs({ args: [...words], options: Object.fromEntries(options), allowPositionals: true, strict: false, tokens: true }).tokens
}

/** What is wrong with one flag, or null. */
function faultOf(token: OptionToken, flags: Readonly<Record<string, Flag>>): string | null {
  const flag = Object.hasOwn(flags, token.name) ? flags[token.name] : undefined
  if (flag === undefined) return `There is no option ${token.rawName}.`
  if (flag.value === null && token.value !== undefined) return `The option --${token.name} takes no value.`
  if (flag.value !== null && (token.value === undefined || token.value === '')) return `The option --${token.name} needs a ${flag.value}.`
  // `--port --json`: the next flag was swallowed as the value.
  if (flag.value !== null && !token.inlineValue && token.value?.startsWith('-')) return `The option --${token.name} needs a ${flag.value}.`
  return null
}

/** The words with this flag put right as well as can be guessed. */
function correct(words: readonly string[], token: OptionToken, flags: Readonly<Record<string, Flag>>): readonly string[] {
  const flag = Object.hasOwn(flags, token.name) ? flags[token.name] : undefined
  if (flag === undefined) {
    const meant = closestName(token.name, Object.keys(flags))
    const value = token.inlineValue === true ? `=${token.value}` : ''
    return meant === null ? ['--help'] : words.with(token.index, `--${meant}${value}`)
  }
  if (flag.value === null) return words.with(token.index, `--${token.name}`)
  return words.with(token.index, `--${token.name}=<${flag.value}>`)
}

function collect(options: readonly OptionToken[]): FlagValues {
  const names = new Set(options.map((token) => token.name))
  const values = options.flatMap((token) => (token.value === undefined ? [] : [[token.name, token.value] as const]))
  return { json: names.has('json'), verbose: names.has('verbose'), values: Object.fromEntries(values) }
}
