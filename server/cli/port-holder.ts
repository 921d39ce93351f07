import { readFileSync, readdirSync, readlinkSync } from 'node:fs'

/** A process that listens on a port. */
export interface PortHolder {
  readonly pid: number
  /** Its short name, such as `node`. */
  readonly name: string
  /** Its working directory; null when we may not see it. */
  readonly cwd: string | null
}

const LISTENING = '0A'

/** Who listens on this port of this machine, as far as /proc tells; null elsewhere, or when it belongs to somebody else. */
export function findPortHolder(port: number): PortHolder | null {
  const inodes = new Set(['/proc/net/tcp', '/proc/net/tcp6'].flatMap((table) => listeningInodes(table, port)))
  if (inodes.size === 0) return null
  for (const pid of attempt(() => readdirSync('/proc'), []).filter((name) => /^\d+$/.test(name))) {
    if (holdsSocket(pid, inodes)) return { pid: Number(pid), name: nameOf(pid), cwd: attempt(() => readlinkSync(`/proc/${pid}/cwd`), null) }
  }
  return null
}

/** Columns of the table: number, local address, remote address, state, …, inode as the tenth. */
function listeningInodes(table: string, port: number): readonly string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return attempt(() => readFileSync(table, 'utf8'), '')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .flatMap(([, local, , state, , , , , , inode]) =>
      local?.endsWith(suffix) === true && state === LISTENING && inode !== undefined ? [inode] : [],
    )
}

function holdsSocket(pid: string, inodes: ReadonlySet<string>): boolean {
  return attempt(() => readdirSync(`/proc/${pid}/fd`), []).some((fd) => {
    const inode = /^socket:\[(\d+)\]$/.exec(attempt(() => readlinkSync(`/proc/${pid}/fd/${fd}`), ''))?.[1]
    return inode !== undefined && inodes.has(inode)
  })
}

/** Of the command line, since `comm` may be the title that a process gave itself. */
function nameOf(pid: string): string {
  const [program = ''] = attempt(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'), '').split('\0')
  return program.split(' ')[0]?.split('/').at(-1) || 'a process'
}

/** Processes come and go while we look, and some are not ours to see. */
function attempt<T>(read: () => T, otherwise: T): T {
  try {
    return read()
  } catch {
    return otherwise
  }
}
