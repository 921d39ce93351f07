/** What can be measured, by the names that `--only` takes. */
export const ROWS = {
  'tool-step': 'a one-tool step against a bare commit, and against its own statements',
  'first-event': 'a message to an idle session until the first event of its turn',
  throughput: 'simple turns a second',
  'long-session': 'a late turn of a session against its fifth',
  replay: 'a long log, read from its beginning',
  transactions: 'statements a turn',
  'fan-out': 'many subscribers of some sessions, against bare Node writing the same bytes',
  parked: 'many parked sessions in the database against few (PostgreSQL)',
  waiting: 'many sessions that wait for a person against few (PostgreSQL)',
  'pick-up': 'a worker killed in the middle of a turn (PostgreSQL and Redis)',
  roles: 'one process against an api and a worker (PostgreSQL and Redis)',
  peers: 'the same work done by eve (installs it on the first run)',
} as const satisfies Record<string, string>
export type RowName = keyof typeof ROWS

/** All but the peers, which take minutes and an installation. */
export const OWN_ROWS: ReadonlySet<RowName> = new Set(
  Object.keys(ROWS)
    .filter(isRow)
    .filter((row) => row !== 'peers'),
)

export function isRow(name: string): name is RowName {
  return Object.hasOwn(ROWS, name)
}

/** Names with commas between them. Throws for one that there is not. */
export function parseRows(text: string): ReadonlySet<RowName> {
  const names = text.split(',').map((name) => name.trim())
  const unknown = names.filter((name) => !isRow(name))
  if (unknown.length > 0) throw new Error(`there is no row "${unknown.join('", "')}"; there are ${Object.keys(ROWS).join(', ')}`)
  return new Set(names.filter(isRow))
}
