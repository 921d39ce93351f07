import type { Clock } from '../clock.js'
import type { Config, Environment } from '../config.js'
import type { Inspection } from '../inspect.js'
import type { Log } from '../session/ports.js'
import type { ServerInfo } from './banner.js'
import type { Terminal } from './terminal.js'
import type { RequestSummary, TurnSummary } from '../compose.js'
import type { SignalSource } from './until-stopped.js'

/** What the command line needs of the rest of Perdure and of its process; main.ts hands it over. */
export interface Program {
  readonly version: string
  readonly nodeVersion: string
  readonly cwd: string
  readonly env: Environment
  readonly terminal: Terminal
  readonly clock: Clock
  /** When the process began with this, by the clock's monotonic time. */
  readonly startedAt: number
  readonly signals: SignalSource
  /** Ends the process at once. */
  readonly exit: (code: number) => void
  /** Loads the agents and opens the storage; nothing listens yet. */
  readonly open: (options: OpenOptions) => Promise<OpenServer>
  /** Brings the configured database up to date. */
  readonly migrate: (config: Config) => Promise<MigrationReport>
  /** Looks at everything that a server would use. Never throws for what it finds. */
  readonly inspect: (request: InspectionRequest) => Promise<Inspection>
}
export interface InspectionRequest {
  readonly config: Config
  /** A folder or a file with agents; null: there is none. */
  readonly agentsPath: string | null
}
export interface OpenOptions {
  /** A folder or a file with agents. */
  readonly agentsPath: string
  readonly config: Config
  readonly log: Log
  /** Called for every turn that has ended in this process. */
  readonly onTurn: (turn: TurnSummary) => void
  /** Called for every request that a turn opened in this process. */
  readonly onRequest: (request: RequestSummary) => void
}
export interface OpenServer {
  readonly info: ServerInfo
  /** Resolves once the port is bound. The URL has no slash at its end. */
  listen(): Promise<{ readonly url: string }>
  /** Stops driving, closes port and storage. Repeating it is harmless. */
  stop(): Promise<void>
}
export interface MigrationReport {
  /** Names of the migrations that were applied now. */
  readonly applied: readonly string[]
  /** The database, without its password. */
  readonly location: string
}
