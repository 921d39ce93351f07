import { systemClock } from '../clock.js'
import { loadTerminalSettings, readEnvironment, type Config } from '../config.js'
import type { Inspection } from '../inspect.js'
import type { InspectionRequest, MigrationReport, OpenOptions, OpenServer, Program } from './program.js'

/**
 * The command line's view of this process. The engine is loaded only by the commands that need it, so that help and
 * error texts come at once.
 * @param manifest the text of package.json
 */
export function createProgram(manifest: string): Program {
  const env = readEnvironment()
  return {
    version: versionOf(manifest),
    nodeVersion: process.versions.node,
    cwd: process.cwd(),
    env,
    terminal: {
      out: (text) => void process.stdout.write(text),
      err: (text) => void process.stderr.write(text),
      color: process.stdout.isTTY && process.stderr.isTTY && !loadTerminalSettings(env).noColor,
    },
    clock: systemClock,
    startedAt: systemClock.monotonic(),
    signals: process,
    exit: (code) => process.exit(code),
    open,
    migrate,
    inspect,
  }
}

async function open({ agentsPath, config, log, onTurn, onRequest }: OpenOptions): Promise<OpenServer> {
  const [{ createPerdure }, { loadAgents }, perdure] = await Promise.all([
    import('../compose.js'),
    import('../agents/load-agents.js'),
    import('../index.js'),
  ])
  return createPerdure({ agents: await loadAgents(agentsPath, { perdure }), config, log, onTurn, onRequest })
}

async function migrate(config: Config): Promise<MigrationReport> {
  const { migrateDatabase } = await import('../compose.js')
  return migrateDatabase(config)
}

async function inspect({ config, agentsPath }: InspectionRequest): Promise<Inspection> {
  const [{ inspectDeployment }, { loadAgents }, perdure] = await Promise.all([
    import('../inspect.js'),
    import('../agents/load-agents.js'),
    import('../index.js'),
  ])
  return inspectDeployment({ config, loadAgents: agentsPath === null ? null : () => loadAgents(agentsPath, { perdure }) })
}

function versionOf(manifest: string): string {
  const parsed: unknown = JSON.parse(manifest)
  return typeof parsed === 'object' && parsed !== null && 'version' in parsed ? String(parsed.version) : 'unknown'
}
