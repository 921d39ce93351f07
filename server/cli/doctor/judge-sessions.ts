/** The work: sessions that should have been taken, and why nobody did. */
import type { OpenedDatabase } from '../../inspect.js'
import { broken, counted, lasting, toFindings, warning, type Finding, type Problem } from './finding.js'

type Backlog = NonNullable<OpenedDatabase['backlog']>

export interface SessionsView {
  /** Names of agents, or null when it is not known which there are. */
  readonly agents: readonly string[] | null
  /** Whether some process drives sessions; null: not known. */
  readonly isDriven: boolean | null
}

export function judgeSessions({ waiting, newer, driven }: Backlog, { agents, isDriven }: SessionsView): readonly Finding[] {
  const readable = waiting.filter((group) => group.readable)
  const orphans = readable.filter(({ agent }) => agents !== null && !agents.includes(agent))
  const others = readable.filter((group) => !orphans.includes(group))
  return toFindings('Sessions', `none is waiting for a process; ${driven} driven now`, [
    ...orphans.map(({ agent, sessions, oldestS }) =>
      broken(
        `${due(sessions, oldestS)}, and no agent ${agent} is here`,
        `serve the agent again, name its folder (perdure doctor <path>), or end them`,
      ),
    ),
    others.length === 0 ? null : overdue(others, isDriven),
    newer === 0
      ? null
      : broken(
          `${counted(newer, 'session')} ${newer === 1 ? 'was' : 'were'} written by a newer release`,
          'run that release again; until then they wait',
        ),
  ])
}

function overdue(groups: Backlog['waiting'], isDriven: boolean | null): Problem {
  const sessions = groups.reduce((sum, group) => sum + group.sessions, 0)
  const detail = `${due(sessions, Math.max(...groups.map(({ oldestS }) => oldestS)))}, and nobody takes ${sessions === 1 ? 'it' : 'them'}`
  if (isDriven === false) return warning(detail, 'perdure start: a process that drives sessions takes them at once')
  return broken(detail, 'look at /readyz and the log of the processes; if all slots are busy, raise PERDURE_SLOTS or start another process')
}

function due(sessions: number, oldestS: number): string {
  return `${counted(sessions, 'session')} ${sessions === 1 ? 'has' : 'have'} been due for up to ${lasting(oldestS)}`
}
