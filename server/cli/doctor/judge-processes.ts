/** The processes of the deployment, as they say of themselves in Redis. */
import type { Inspection } from '../../inspect.js'
import { broken, counted, toFindings, warning, type Finding, type Problem } from './finding.js'

type Processes = Extract<NonNullable<Inspection['redis']>, { kind: 'reached' }>['processes']

const ROLES = ['all', 'api', 'worker'] as const

/** `deployment`: of the configuration that is looked at. */
export function judgeProcesses(processes: Processes, deployment: string): readonly Finding[] {
  if (processes.length === 0) return toFindings('Processes', '', [warning('none is there', 'perdure start')])
  const slots = processes.reduce((sum, process) => sum + process.slots, 0)
  const roles = ROLES.map((role) => [role, processes.filter((process) => process.role === role).length] as const)
  const shown = roles.flatMap(([role, count]) => (count === 0 ? [] : [`${count} ${role}`])).join(', ')
  return toFindings('Processes', `${shown}; ${counted(slots, 'slot')}, deployment ${processes[0]?.deployment ?? deployment}`, [
    slots === 0 ? broken(`${shown}: none drives sessions`, 'PERDURE_ROLE=worker perdure start') : null,
    processes.every(({ role }) => role === 'worker') ? warning(`${shown}: none answers requests`, 'PERDURE_ROLE=api perdure start') : null,
    judgeDeployments(processes, deployment),
  ])
}

function judgeDeployments(processes: Processes, configured: string): Problem | null {
  const names = [...new Set(processes.map(({ deployment }) => deployment))].sort()
  if (names.length > 1) {
    const shares = names.map((name) => `${name} (${processes.filter(({ deployment }) => deployment === name).length})`)
    return warning(`they are of different deployments: ${shares.join(', ')}`, 'finish the release; or give them one PERDURE_DEPLOYMENT')
  }
  if (names[0] === configured) return null
  return warning(
    `they are of the deployment ${names[0] ?? ''}, this configuration is of ${configured}`,
    'set PERDURE_DEPLOYMENT as they have it',
  )
}
