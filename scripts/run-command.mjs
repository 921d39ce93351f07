import { spawn } from 'node:child_process'

const GRACE_MS = 5000

/**
 * Runs a command without stdin and waits for it.
 * @param {readonly string[]} command program and arguments
 * @param {{ cwd: string, timeoutMs: number, show?: boolean, env?: Record<string, string> }} options `show` passes the output on as it comes
 * @returns {Promise<{ ok: boolean, output: string }>} `output` is empty with `show`
 */
export function runCommand([program, ...args], { cwd, timeoutMs, show = false, env = {} }) {
  return new Promise((resolve) => {
    const stdio = show ? ['ignore', 'inherit', 'inherit'] : ['ignore', 'pipe', 'pipe']
    const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio, shell: process.platform === 'win32' })
    let output = ''
    const kill = (signal) => () => child.kill(signal)
    const timers = [setTimeout(kill('SIGTERM'), timeoutMs), setTimeout(kill('SIGKILL'), timeoutMs + GRACE_MS)]
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (text) => (output += text))
    const end = (ok, reason) => {
      timers.forEach(clearTimeout)
      resolve({ ok, output: output + reason })
    }
    child.on('error', (error) => end(false, `${program}: ${error.message}`))
    child.on('close', (status, signal) =>
      end(status === 0, signal === null ? '' : `\n${program} was ended by ${signal} (limit ${timeoutMs / 1000} s)`),
    )
  })
}
