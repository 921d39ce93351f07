import type { Role } from '../config.js'
import { paint, type Terminal } from './terminal.js'

/** What a running server says of itself. */
export interface ServerInfo {
  /** Names of the agents. */
  readonly agents: readonly string[]
  /** Models in use, such as `openai/gpt-5` or `scripted`. */
  readonly models: readonly string[]
  readonly role: Role
  /** The URL without its password; null: it is not used. */
  readonly redis: string | null
  readonly storage: {
    readonly kind: 'embedded' | 'postgres'
    /** The folder, or the URL without its password. */
    readonly location: string
    readonly sessions: number
    /** Sessions that the last process left in the middle of a turn and that are being driven on. */
    readonly recovered: number
  }
}
export interface BannerFacts {
  readonly version: string
  readonly nodeVersion: string
  /** From the start of the server's code to its first answer. */
  readonly readyMs: number
  /** Base URL of the server, without a slash at its end. */
  readonly url: string
  /** Where the agents were loaded from, as a person wrote it. */
  readonly agentsPath: string
  /** GraphiQL is served, to everybody on this machine. Otherwise nobody can sign in: the command line has no `authenticate`. */
  readonly development: boolean
  readonly info: ServerInfo
}

const ROLES = { api: 'api: answers requests, drives no sessions', worker: 'worker: drives sessions, answers no requests' } as const

/** The first thing a person reads. Only what is true now, at most 12 lines, no address outside this machine. */
export function bannerText(facts: BannerFacts, terminal: Pick<Terminal, 'color'>): string {
  const { info, url } = facts
  const engine = `node ${facts.nodeVersion} · ${info.storage.kind === 'embedded' ? 'embedded (PGlite)' : 'PostgreSQL'}`
  const servesApi = info.role !== 'worker'
  const rows: (readonly [string, string])[] = [
    servesApi
      ? ['GraphQL', `${paint(terminal, 'cyan', `${url}/graphql`)}${facts.development ? '   GraphiQL in a browser' : ''}`]
      : ['Probes', `${paint(terminal, 'cyan', `${url}/readyz`)}   /livez, /metrics`],
    ['Agents', `${info.agents.join(' · ')}   ${paint(terminal, 'dim', facts.agentsPath)}`],
    ['Model', modelText(info.models)],
    ...(servesApi ? [['Access', accessText(facts.development)] as const] : []),
    ['Storage', `${info.storage.location}   ${counted(info.storage.sessions, 'session')}`],
    ...(info.redis === null ? [] : [['Redis', info.redis] as const]),
    ...(info.role === 'all' ? [] : [['Role', ROLES[info.role]] as const]),
  ]
  if (info.storage.recovered > 0)
    rows.push(['Recovered', `${counted(info.storage.recovered, 'session')} in the middle of a turn, going on`])
  rows.push(['Stop', 'Ctrl-C; nothing is lost'])
  const [agent] = info.agents
  const tryIt =
    agent === undefined || !facts.development || !servesApi
      ? []
      : ['', `   ${paint(terminal, 'bold', 'Try it')}     ${curlLine(url, agent)}`]
  const head = ` ${paint(terminal, 'bold', `perdure ${facts.version}`)}  ready in ${(facts.readyMs / 1000).toFixed(1)} s   ${paint(terminal, 'dim', engine)}`
  const body = rows.map(([label, text]) => `   ${paint(terminal, 'bold', label.padEnd(9))}  ${text}`)
  return `${[head, '', ...body, ...tryIt].join('\n')}\n`
}

/** The same facts for a machine, one line. */
export function bannerJson(facts: BannerFacts): string {
  const { version, url, readyMs, info } = facts
  const graphql = info.role === 'worker' ? null : `${url}/graphql`
  return `${JSON.stringify({ version, url, graphql, ready: `${url}/readyz`, pid: process.pid, readyMs: Math.round(readyMs), ...info })}\n`
}

function accessText(development: boolean): string {
  if (development) return 'open to everybody on this machine (development)'
  return 'nobody can sign in   → listen on 127.0.0.1, or use createPerdure({ authenticate }) in your own process'
}

function modelText(models: readonly string[]): string {
  const offline = models.every((model) => model.startsWith('scripted'))
  return offline ? 'scripted, offline   → set OPENAI_API_KEY for a real one' : models.join(' · ')
}

/** Sends a first message from a shell, as it stands. */
function curlLine(url: string, agent: string): string {
  const target = `{address:{address:"cli:demo",create:{agent:"${agent}"}}}`
  const query = `mutation{send(input:{to:${target},message:{text:"Hello"}}){__typename ...on SendPayload{session{id status}} ...on Problem{message}}}`
  return `curl ${url}/graphql -H 'content-type: application/json' -d '${JSON.stringify({ query })}'`
}

function counted(count: number, noun: string): string {
  return `${String(count)} ${noun}${count === 1 ? '' : 's'}`
}
