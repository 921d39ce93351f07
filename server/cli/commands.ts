/** The commands of `perdure`, as data: parsing, help and suggestions are all made from this table. */

export interface Flag {
  readonly summary: string
  /** What its value is called in the help; null: it takes none. */
  readonly value: string | null
  readonly short?: string
}
export interface Command {
  readonly summary: string
  /** What may stand after the command. */
  readonly argument: { readonly name: string; readonly summary: string; readonly fallback: string } | null
  readonly flags: Readonly<Record<string, Flag>>
  readonly examples: readonly { readonly line: string; readonly does: string }[]
}

export const COMMON_FLAGS = {
  json: { summary: 'print one JSON object instead of text', value: null },
  verbose: { summary: 'show the stack of an error', value: null },
  help: { summary: 'print this help', value: null, short: 'h' },
  version: { summary: 'print the version', value: null, short: 'v' },
} as const satisfies Record<string, Flag>

/** Those that do something. */
export type RunnableName = 'start' | 'doctor' | 'migrate'
export type CommandName = RunnableName | 'help'
export const COMMAND_NAMES: readonly CommandName[] = ['start', 'doctor', 'migrate', 'help']
/** What `start` serves when it is not told. */
export const DEFAULT_AGENTS_PATH = './agents'

const DATA_DIR: Flag = { summary: 'folder of the embedded database (PERDURE_DATA_DIR, .perdure)', value: 'folder' }

export const COMMANDS: Readonly<Record<CommandName, Command>> = {
  start: {
    summary: 'Serve the agents of a folder, or of one file, over GraphQL.',
    argument: { name: 'path', summary: 'where the agents are', fallback: DEFAULT_AGENTS_PATH },
    flags: {
      port: { summary: 'port to listen on (PERDURE_PORT, 4000)', value: 'number' },
      host: { summary: 'address to listen on (PERDURE_HOST, 127.0.0.1)', value: 'address' },
      'data-dir': DATA_DIR,
      role: { summary: 'all, api (answers requests) or worker (drives sessions) (PERDURE_ROLE, all)', value: 'role' },
      'log-level': { summary: 'trace, debug, info, warn, error or silent (PERDURE_LOG_LEVEL, warn)', value: 'level' },
    },
    examples: [
      { line: 'perdure start', does: 'the agents in ./agents, embedded database, port 4000' },
      { line: 'perdure start examples/agents --port 4001', does: 'another folder, another port' },
      { line: 'DATABASE_URL=postgresql://localhost/perdure perdure start', does: 'with PostgreSQL' },
      { line: 'DATABASE_URL=… REDIS_URL=redis://localhost perdure start --role worker', does: 'one of many processes' },
    ],
  },
  doctor: {
    summary: 'Look at what a server would use (agents, database, Redis, the other processes) and say what to mend. Changes nothing.',
    argument: { name: 'path', summary: 'where the agents are', fallback: DEFAULT_AGENTS_PATH },
    flags: { 'data-dir': DATA_DIR },
    examples: [
      { line: 'perdure doctor', does: 'with the environment that perdure start would have here' },
      { line: 'perdure doctor --json', does: 'for a script; ends with 1 when something is broken' },
    ],
  },
  migrate: {
    summary: 'Bring the database up to this version. `start` does it too; this is for a deployment that wants it apart.',
    argument: null,
    flags: { 'data-dir': DATA_DIR },
    examples: [
      { line: 'DATABASE_URL=postgresql://localhost/perdure perdure migrate', does: 'a PostgreSQL database' },
      { line: 'perdure migrate --json', does: 'the embedded one, for a script' },
    ],
  },
  help: {
    summary: 'Explain a command.',
    argument: { name: 'command', summary: 'which one', fallback: 'all of them' },
    flags: {},
    examples: [{ line: 'perdure help start', does: 'how to start a server' }],
  },
}

export function isCommandName(word: string): word is CommandName {
  return Object.hasOwn(COMMANDS, word)
}

/** Every flag that may stand after this command. */
export function flagsOf(name: CommandName): Readonly<Record<string, Flag>> {
  return { ...COMMANDS[name].flags, ...COMMON_FLAGS }
}

/** What the process ends with. */
export const EXIT = { ok: 0, failure: 1, usage: 2, interrupted: 130 } as const
