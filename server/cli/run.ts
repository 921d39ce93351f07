import { loadTerminalSettings } from '../config.js'
import { assertNever } from '../errors.js'
import { parseCommandLine, type FlagValues, type Request } from './arguments.js'
import { EXIT, type RunnableName } from './commands.js'
import { helpText } from './help.js'
import { doctor } from './doctor.js'
import { migrate } from './migrate.js'
import type { Program } from './program.js'
import { errorText } from './report-error.js'
import { start } from './start.js'
import { paint } from './terminal.js'

const RUN: Readonly<Record<RunnableName, (program: Program, argument: string | null, flags: FlagValues) => Promise<number>>> = {
  start,
  doctor,
  migrate: (program, _argument, flags) => migrate(program, flags),
}

/** Does what the words after the program's name ask for, and answers the exit code. Never throws. */
export async function run(words: readonly string[], program: Program): Promise<number> {
  const request = parseCommandLine(words)
  try {
    return await perform(request, program)
  } catch (error) {
    const verbose = request.kind === 'run' && request.flags.verbose
    program.terminal.err(errorText(error, { terminal: program.terminal, verbose }))
    return EXIT.failure
  }
}

async function perform(request: Request, program: Program): Promise<number> {
  const { terminal } = program
  switch (request.kind) {
    case 'help':
      terminal.out(helpText(request.command))
      return EXIT.ok
    case 'version':
      terminal.out(`${program.version}\n`)
      return EXIT.ok
    case 'usage':
      terminal.err(`${paint(terminal, 'red', request.message)}\n→ ${typed(request.line, program)}\n${paint(terminal, 'dim', 'USAGE')}\n`)
      return EXIT.usage
    case 'run':
      return await RUN[request.command](program, request.argument, request.flags)
    default:
      return assertNever(request)
  }
}

/** The words as this person would type them, ready to copy. `npm start` has said the first ones already. */
function typed(line: readonly string[], program: Program): string {
  const { startCommand } = loadTerminalSettings(program.env)
  const [command, path, ...rest] = line
  const quoted = (words: readonly string[]): string => words.map(quote).join(' ')
  if (!startCommand.startsWith('npm') || command !== 'start') return `perdure ${quoted(line)}`
  const own = path === 'examples/agents' || path === undefined ? rest : [path, ...rest]
  return `${startCommand} ${quoted(own)}`
}

function quote(word: string): string {
  return /^[\w./:=@<>,+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
