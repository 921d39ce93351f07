import { COMMANDS, COMMAND_NAMES, COMMON_FLAGS, type Command, type CommandName, type Flag } from './commands.js'

/** The help of one command, or of all of them. */
export function helpText(command: CommandName | null): string {
  return command === null ? overview() : explain(command, COMMANDS[command])
}

function overview(): string {
  const rows = COMMAND_NAMES.map((name) => [name, COMMANDS[name].summary] as const)
  const examples = COMMAND_NAMES.flatMap((name) => COMMANDS[name].examples.slice(0, 1))
  return sections([
    ['perdure: durable agent sessions behind GraphQL', 'perdure <command> [options]'],
    ['Commands', table(rows)],
    ['Options', table(flagRows(COMMON_FLAGS))],
    ['Exit codes', '0 done   1 it failed   2 the command line was not understood'],
    ['Examples', table(examples.map(({ line, does }) => [line, does]))],
  ])
}

function explain(name: CommandName, command: Command): string {
  const { argument } = command
  const usage = `perdure ${name}${argument === null ? '' : ` [${argument.name}]`} [options]`
  const argumentRows = argument === null ? [] : [[`[${argument.name}]`, `${argument.summary} (${argument.fallback})`] as const]
  return sections([
    [command.summary, usage],
    ['Options', table([...argumentRows, ...flagRows({ ...command.flags, ...COMMON_FLAGS })])],
    ['Examples', table(command.examples.map(({ line, does }) => [line, does]))],
  ])
}

function flagRows(flags: Readonly<Record<string, Flag>>): readonly (readonly [string, string])[] {
  return Object.entries(flags).map(([name, flag]) => {
    const short = flag.short === undefined ? '' : `-${flag.short}, `
    const value = flag.value === null ? '' : ` <${flag.value}>`
    return [`${short}--${name}${value}`, flag.summary]
  })
}

function table(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `${left.padEnd(width)}  ${right}`).join('\n  ')
}

function sections(parts: readonly (readonly [string, string])[]): string {
  return `${parts.map(([title, body]) => `${title}\n\n  ${body}`).join('\n\n')}\n`
}
