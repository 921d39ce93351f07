import { spawn } from 'node:child_process'

const GRACE_MS = 5000

/**
 * Runs a command without stdin and waits for it.
 * @param {readonly string[]} command program and arguments
 * @param {{ cwd: string, timeoutMs: number, show?: boolean, env?: Record<string, string> }} options `show` passes the output on as it comes
 * @returns {Promise<{ ok: boolean, output: string }>} with `show`, `output` says only how it ended
 */
export function runCommand([program, ...args], { cwd, timeoutMs, show = false, env = {} }) {
  return new Promise((resolve) => {
    const stdio = show ? ['ignore', 'inherit', 'inherit'] : ['ignore', 'pipe', 'pipe']
    // A group of its own: what the command has started is ended with it, also a worker that no longer listens.
    const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio, detached: true })
    let output = ''
    const kill = (signal) => () => endGroup(child.pid, signal)
    const killAtExit = kill('SIGKILL')
    process.once('exit', killAtExit)
    const timers = [setTimeout(kill('SIGTERM'), timeoutMs), setTimeout(kill('SIGKILL'), timeoutMs + GRACE_MS)]
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (text) => (output += text))
    const end = (ok, reason) => {
      timers.forEach(clearTimeout)
      process.off('exit', killAtExit)
      killAtExit()
      resolve({ ok, output: output + reason })
    }
    child.on('error', (error) => end(false, `${program}: ${error.message}`))
    child.on('close', (status, signal) =>
      end(status === 0, signal === null ? '' : `\n${program} was ended by ${signal} (limit ${timeoutMs / 1000} s)`),
    )
  })
}

function endGroup(pid, signal) {
  try {
    process.kill(-pid, signal)
  } catch {
    // It has ended already.
  }
}
