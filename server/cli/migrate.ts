import { loadConfig } from '../config.js'
import type { FlagValues } from './arguments.js'
import { EXIT } from './commands.js'
import type { Program } from './program.js'

/** `perdure migrate`: applies what is missing and says what that was. Repeating it does nothing. */
export async function migrate(program: Program, flags: FlagValues): Promise<number> {
  const config = loadConfig({ env: program.env, cwd: program.cwd, flags: { dataDir: flags.values['data-dir'] } })
  const { applied, location } = await program.migrate(config)
  program.terminal.out(flags.json ? `${JSON.stringify({ location, applied })}\n` : reportText(applied, location))
  return EXIT.ok
}

function reportText(applied: readonly string[], location: string): string {
  if (applied.length === 0) return `${location} is up to date.\n`
  return `${location} is up to date now; applied:\n${applied.map((name) => `  ${name}\n`).join('')}`
}
