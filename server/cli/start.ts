import { loadConfig, loadTerminalSettings, type Config, type Role } from '../config.js'
import { PerdureError, toMessage } from '../errors.js'
import { createLogger } from '../logger.js'
import type { FlagValues } from './arguments.js'
import { bannerJson, bannerText } from './banner.js'
import { DEFAULT_AGENTS_PATH } from './commands.js'
import { nearName } from './near-name.js'
import { assertPortFree, explainListenError, type PortOptions } from './port.js'
import type { OpenServer, Program } from './program.js'
import { printRequest, printTurn } from './turn-line.js'
import { untilStopped } from './until-stopped.js'

const HEALTH_TIMEOUT_MS = 5000
/** What a stop gets beyond the time that running work has, and at least altogether. */
const CLOSING_MS = 5000
const LEAST_STOP_MS = 15_000

/** `perdure start`: serves until a signal comes. Nothing is printed as ready before it answers. */
export async function start(program: Program, argument: string | null, flags: FlagValues): Promise<number> {
  const { cwd, terminal } = program
  const { values } = flags
  const config = loadConfig({
    env: program.env,
    cwd,
    flags: {
      port: values['port'],
      host: values['host'],
      dataDir: values['data-dir'],
      logLevel: values['log-level'],
      role: values['role'],
    },
  })
  const { startCommand } = loadTerminalSettings(program.env)
  const port: PortOptions = { host: config.host, port: config.port, startCommand, cwd }
  await assertPortFree(port)
  const agentsPath = argument ?? DEFAULT_AGENTS_PATH
  const server = await program.open({
    agentsPath,
    config,
    log: createLogger({
      level: config.logLevel,
      format: flags.json ? 'json' : 'text',
      write: (line) => {
        terminal.err(line)
      },
    }),
    onTurn: (turn) => {
      if (!flags.json) printTurn(terminal, turn)
    },
    onRequest: (request) => {
      if (!flags.json) printRequest(terminal, request)
    },
  })
  const { signals, clock, exit } = program
  const deadlineMs = Math.max(LEAST_STOP_MS, config.drainMs + CLOSING_MS)
  const stopped = untilStopped({ signals, clock, exit, deadlineMs, stop: () => server.stop() })
  const announced = announce(server, { program, port, agentsPath, config, json: flags.json })
  // A signal may come before the server is ready; then there is nothing to announce.
  return (await Promise.race([stopped, announced.then(() => null)])) ?? (await stopped)
}

interface Announcement {
  readonly program: Program
  readonly port: PortOptions
  readonly agentsPath: string
  readonly config: Config
  readonly json: boolean
}

/** Listens, asks the server one question, and prints the banner; closes everything again when one of them fails. */
async function announce(server: OpenServer, { program, port, agentsPath, config, json }: Announcement): Promise<void> {
  try {
    const { url } = await server.listen()
    await assertAnswers(url, server.info.role)
    const info = { ...server.info, storage: { ...server.info.storage, location: nearName(server.info.storage.location, program.cwd) } }
    const { version, nodeVersion, terminal } = program
    const facts = {
      version,
      nodeVersion,
      url,
      agentsPath,
      info,
      development: config.development,
      readyMs: program.clock.monotonic() - program.startedAt,
    }
    terminal.out(json ? bannerJson(facts) : bannerText(facts, terminal))
  } catch (error) {
    await server.stop()
    throw explainListenError(error, port)
  }
}

async function assertAnswers(base: string, role: Role): Promise<void> {
  const signal = AbortSignal.timeout(HEALTH_TIMEOUT_MS)
  const question = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"query":"{ __typename }"}', signal }
  const [url, request] = role === 'worker' ? [`${base}/livez`, { signal }] : [`${base}/graphql`, question]
  try {
    const response = await fetch(url, request)
    await response.text()
    // Without credentials the answer may be a refusal; that is an answer too.
    if (response.status < 500) return
    throw new PerdureError('START_FAILED', `${url} answers with status ${String(response.status)}.`)
  } catch (error) {
    if (error instanceof PerdureError) throw error
    throw new PerdureError('START_FAILED', `${url} does not answer: ${toMessage(error)}.`, { cause: error })
  }
}
