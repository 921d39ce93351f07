import { describe, expect, test } from 'vitest'
import { parseCommandLine } from '../../server/cli/arguments.js'
import { COMMAND_NAMES, COMMANDS, flagsOf } from '../../server/cli/commands.js'
import { helpText } from '../../server/cli/help.js'

const parse = (line: string) => parseCommandLine(line === '' ? [] : line.split(' '))

describe('a command line is understood', () => {
  test('a path and flags, in any order and both spellings', () => {
    const expected = { kind: 'run', command: 'start', argument: 'agents', flags: { json: true, verbose: false, values: { port: '4001' } } }
    expect(parse('start agents --port 4001 --json')).toEqual(expected)
    expect(parse('start --json --port=4001 agents')).toEqual(expected)
  })

  test('without words it explains itself', () => {
    expect(parse('')).toEqual({ kind: 'help', command: null })
  })

  test.each(['--help', '-h', 'help'])('%s is the help of everything', (line) => {
    expect(parse(line)).toEqual({ kind: 'help', command: null })
  })

  test.each(['start --help', 'start -h --nonsense', 'help start'])('%s is the help of one command', (line) => {
    expect(parse(line)).toEqual({ kind: 'help', command: 'start' })
  })

  test.each(['--version', '-v', 'migrate --version'])('%s is the version', (line) => {
    expect(parse(line)).toEqual({ kind: 'version' })
  })
})

describe('a mistake comes back as the whole corrected line', () => {
  test.each([
    ['strat agents --port 4001', 'There is no command "strat".', 'start agents --port 4001'],
    ['start agents --prot 4001 --json', 'There is no option --prot.', 'start agents --port 4001 --json'],
    ['start --prot=4001', 'There is no option --prot.', 'start --port=4001'],
    ['start --port', 'The option --port needs a number.', 'start --port=<number>'],
    ['start --port --json', 'The option --port needs a number.', 'start --port=<number> --json'],
    ['start --json=yes', 'The option --json takes no value.', 'start --json'],
    ['start one two --json', '"two" is one word too many.', 'start one --json'],
    ['migrate now', '"now" is one word too many.', 'migrate'],
    ['help strat', 'There is no command "strat".', 'help start'],
    ['frobnicate', 'There is no command "frobnicate".', 'help'],
    ['start --frobnicate', 'There is no option --frobnicate.', 'start --help'],
    ['--port 4001', 'A command comes first.', 'start --port 4001'],
    ['start --constructor', 'There is no option --constructor.', 'start --help'],
    ['constructor', 'There is no command "constructor".', 'help'],
  ])('%s', (line, message, corrected) => {
    expect(parse(line)).toEqual({ kind: 'usage', message, line: corrected.split(' ') })
  })
})

describe('the help', () => {
  test('names every command', () => {
    for (const name of COMMAND_NAMES) expect(helpText(null)).toContain(COMMANDS[name].summary)
  })

  test.each(COMMAND_NAMES)('of %s names every flag and ends with examples that parse', (name) => {
    const text = helpText(name)
    for (const flag of Object.keys(flagsOf(name))) expect(text).toContain(`--${flag}`)
    const examples = text.slice(text.indexOf('Examples'))
    for (const { line } of COMMANDS[name].examples) {
      expect(examples).toContain(line)
      expect(parse(line.split('perdure ').at(-1) ?? '').kind).not.toBe('usage')
    }
  })
})
