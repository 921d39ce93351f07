import { createServer } from 'node:net'
import { realpathSync } from 'node:fs'
import { PerdureError } from '../errors.js'
import { findPortHolder } from './port-holder.js'

export interface PortOptions {
  readonly host: string
  readonly port: number
  /** What a person types to start the server, up to its flags. */
  readonly startCommand: string
  readonly cwd: string
}

/**
 * Fails when the server could not listen there, with who is in the way and what to type instead. Asked before anything is opened
 * or printed; the answer may be outdated a moment later, so the real listen is explained with `explainListenError` too.
 */
export async function assertPortFree(options: PortOptions): Promise<void> {
  if (options.port === 0) return
  const probe = createServer()
  try {
    await new Promise<void>((resolve, reject) => {
      probe.once('error', reject)
      probe.listen({ host: options.host, port: options.port, exclusive: true }, resolve)
    })
  } catch (error) {
    throw explainListenError(error, options)
  } finally {
    await new Promise((resolve) => probe.close(resolve))
  }
}

/** Turns the error of a `listen` into one for a person; any other error comes back as it is. */
export function explainListenError(error: unknown, options: PortOptions): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const { host, port, startCommand } = options
  const another = `${startCommand} --port ${String(port < 1024 ? 4000 : port + 1)}`
  if (code === 'EADDRINUSE') return inUse(options, another, error)
  if (code === 'EACCES')
    return new PerdureError('PORT_FORBIDDEN', `Port ${String(port)} needs rights that this process does not have.`, {
      hint: another,
      cause: error,
    })
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return new PerdureError('HOST_UNKNOWN', `The address ${host} does not belong to this machine.`, {
      hint: `${startCommand} --host 127.0.0.1`,
      cause: error,
    })
  }
  return error
}

function inUse(options: PortOptions, another: string, cause: unknown): PerdureError {
  const holder = findPortHolder(options.port)
  const port = String(options.port)
  if (holder === null) return new PerdureError('PORT_IN_USE', `Port ${port} is taken.`, { hint: another, cause })
  const pid = String(holder.pid)
  if (holder.name === 'node' && holder.cwd === realpathSync(options.cwd)) {
    const message = `Port ${port} is taken: Perdure already runs for this folder (pid ${pid}), http://${options.host}:${port}/graphql`
    return new PerdureError('PORT_IN_USE', message, { hint: `kill ${pid}   to stop it, or: ${another}`, cause })
  }
  const where = holder.cwd === null ? '' : `, ${holder.cwd}`
  return new PerdureError('PORT_IN_USE', `Port ${port} is taken by ${holder.name} (pid ${pid}${where}).`, { hint: another, cause })
}
