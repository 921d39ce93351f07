import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { loadConfig, type Config } from '../config.js'
import { PerdureError } from '../errors.js'
import type { FlagValues } from './arguments.js'
import { DEFAULT_AGENTS_PATH, EXIT } from './commands.js'
import type { Finding } from './doctor/finding.js'
import { judge } from './doctor/judge.js'
import { findingsText } from './doctor/print-findings.js'
import { nearName } from './near-name.js'
import type { Program } from './program.js'
import { paint } from './terminal.js'

/** `perdure doctor`: looks at everything that a start would use, and says what to mend. Changes nothing; 1 when something is broken. */
export async function doctor(program: Program, argument: string | null, flags: FlagValues): Promise<number> {
  const findings = await examine(program, argument, flags)
  const isFine = findings.every(({ status }) => status !== 'broken')
  const { terminal, version, nodeVersion } = program
  if (flags.json) {
    terminal.out(`${JSON.stringify({ version, node: nodeVersion, ok: isFine, checks: findings })}\n`)
  } else {
    const head = ` ${paint(terminal, 'bold', `perdure ${version}`)}  doctor   ${paint(terminal, 'dim', `node ${nodeVersion}`)}`
    terminal.out(`${head}\n\n${findingsText(findings, terminal)}`)
  }
  return isFine ? EXIT.ok : EXIT.failure
}

async function examine(program: Program, argument: string | null, { values }: FlagValues): Promise<readonly Finding[]> {
  const config = readConfig(program, values)
  if ('status' in config) return [config]
  const agentsPath = argument ?? DEFAULT_AGENTS_PATH
  // Named, it has to be there; where they usually are, it need not.
  const isKnown = argument !== null || existsSync(resolve(program.cwd, agentsPath))
  const inspection = await program.inspect({ config, agentsPath: isKnown ? agentsPath : null })
  return judge(inspection, { config, agentsPath, dataDir: nearName(config.dataDir, program.cwd) })
}

function readConfig({ env, cwd }: Program, values: FlagValues['values']): Config | Finding {
  try {
    return loadConfig({ env, cwd, flags: { dataDir: values['data-dir'] } })
  } catch (thrown) {
    if (!(thrown instanceof PerdureError)) throw thrown
    return { name: 'Configuration', status: 'broken', detail: thrown.message, mend: thrown.hint ?? null }
  }
}
