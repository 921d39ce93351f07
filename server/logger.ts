/** The process log, for operators: one line an event, on stderr. What happens in a session is in its own log, not here. */
import pino from 'pino'
import type { LogLevel } from './config.js'
import type { Log } from './session/ports.js'

export interface LoggerOptions {
  readonly level: LogLevel
  /** `json`: one object a line, for machines. `text`: for a person at a terminal. */
  readonly format: 'json' | 'text'
  /** Gets whole lines. Default: stderr. */
  readonly write?: (line: string) => void
}

/** Values that must not reach a log, wherever an object carries them. */
const SECRETS = ['authorization', 'cookie', 'apiKey', 'password', '*.authorization', '*.cookie', '*.apiKey', '*.password']

/** Makes the log of a process. */
export function createLogger(options: LoggerOptions): Log {
  const { level, format, write = (line: string) => void process.stderr.write(line) } = options
  const destination = { write: format === 'json' ? write : (line: string) => write(toText(line)) }
  const settings = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: SECRETS,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  return wrap(pino(settings, destination))
}

function wrap(logger: pino.Logger): Log {
  return {
    debug: (message, fields = {}) => logger.debug(fields, message),
    info: (message, fields = {}) => logger.info(fields, message),
    warn: (message, fields = {}) => logger.warn(fields, message),
    error: (message, fields = {}) => logger.error(fields, message),
    with: (fields) => wrap(logger.child(fields)),
  }
}

/** `12:03:04 WARN  message key=value`, and the stack of an error below it. */
function toText(line: string): string {
  const { level, time, msg, err, ...fields } = parseLine(line)
  const pairs = Object.entries(fields).map(([key, value]) => ` ${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
  const stack = typeof err === 'object' && err !== null && 'stack' in err && typeof err.stack === 'string' ? `\n${err.stack}` : ''
  const at = typeof time === 'string' ? new Date(time).toTimeString().slice(0, 8) : ''
  return `${at} ${String(level).toUpperCase().padEnd(5)} ${String(msg)}${pairs.join('')}${stack}\n`
}

function parseLine(line: string): Record<string, unknown> {
  const parsed: unknown = JSON.parse(line)
  return typeof parsed === 'object' && parsed !== null ? { ...parsed } : { msg: line }
}
