/** Every figure of a run, a row each, a column for each place. */
import type { Counts, Figures, FirstEvent, ParkedSide, PlaceResults, Throughput, Timing, TurnCost, WaitingSide } from './results.js'
import { toCount, toPercent, toSeconds, toShortNumber, toSpan, toTimes } from './words.js'

export interface Row {
  readonly figure: string
  /** Null: it was not measured there. */
  readonly value: (place: PlaceResults) => string | null
}

/** The sizes of a run, and so its rows, are the same at each place; only the statements may differ, and what can be measured. */
export function toRows(places: readonly PlaceResults[]): readonly Row[] {
  return [
    row('bareCommit', 'bare commit', toSpan),
    row('toolStep', 'one-tool step', ({ perStep, toBare }) => `${toSpan(perStep)}; ${toTimes(toBare)} bare`),
    row('toolStep', '… its statements alone', ({ statements }) => toSpan(statements)),
    row('toolStep', '… step to statements', ({ toStatements }) => toTimes(toStatements)),
    ...firstEventRows('in process', ({ inProcess }) => inProcess),
    ...firstEventRows('GraphQL', ({ http }) => http),
    ...throughputRows(places),
    ...longSessionRows(places),
    ...replayRows(places),
    ...fanOutRows(places),
    ...parkedRows('few', places),
    ...parkedRows('many', places),
    row('parked', '… to few', ({ manyToFew }) => toTimes(manyToFew)),
    ...waitingRows('few', places),
    ...waitingRows('many', places),
    row(
      'waiting',
      '… to few',
      ({ manyToFew, turnManyToFew, queueManyToFew }) =>
        `${toTimes(manyToFew)}, whole turn ${toTimes(turnManyToFew)}, queue ${toTimes(queueManyToFew)}`,
    ),
    ...pickUpRows(places),
    ...rolesRows(places),
    ...countRows('simple turn', places, ({ simpleTurn }) => simpleTurn),
    ...countRows('one-tool turn', places, ({ oneToolTurn }) => oneToolTurn),
  ].filter(({ value }) => places.some((place) => value(place) !== null))
}

function row<Name extends keyof Figures>(name: Name, figure: string, show: (value: Figures[Name]) => string): Row {
  return {
    figure,
    value: ({ figures }) => {
      const value: Figures[Name] | undefined = figures[name]
      return value === undefined ? null : show(value)
    },
  }
}

/** The first that was measured, for what rows are called. */
function find<Name extends keyof Figures>(places: readonly PlaceResults[], name: Name): Figures[Name] | undefined {
  return places.map(({ figures }): Figures[Name] | undefined => figures[name]).find((value) => value !== undefined)
}

function firstEventRows(way: string, pick: (of: Figures['firstEvent']) => FirstEvent): readonly Row[] {
  const one = (figure: string, timing: (of: FirstEvent) => Timing, ratio: (of: FirstEvent) => number): Row =>
    row('firstEvent', figure, (all) => `${toSpan(timing(pick(all)))}; ${toTimes(ratio(pick(all)))} bare`)
  return [
    one(
      `accepted → first event, ${way}`,
      (of) => of.sinceAccepted,
      (of) => of.acceptedToBare,
    ),
    one(
      `sent → first event, ${way}`,
      (of) => of.sinceSent,
      (of) => of.sentToBare,
    ),
  ]
}

function throughputRows(places: readonly PlaceResults[]): readonly Row[] {
  return (find(places, 'throughput') ?? []).map(({ way, sessions }: Throughput, index) =>
    row(
      'throughput',
      `turns, ${sessions} session${sessions === 1 ? '' : 's'}, ${way === 'http' ? 'GraphQL' : way}`,
      (loads) => `${toCount(loads[index]?.turnsPerSecond ?? Number.NaN)}/s`,
    ),
  )
}

function longSessionRows(places: readonly PlaceResults[]): readonly Row[] {
  const known = find(places, 'longSession')
  if (known === undefined) return []
  const one = (turn: number, pick: (of: Figures['longSession']) => TurnCost): readonly Row[] => [
    row('longSession', `turn ${turn}`, (of) => toSpan(pick(of).perTurn)),
    row('longSession', '… of it reading history', (of) => toSpan(pick(of).readingHistory)),
    row('longSession', '… written', (of) => toWritten(pick(of))),
  ]
  return [
    ...one(known.early.turn, ({ early }) => early),
    ...one(known.late.turn, ({ late }) => late),
    row('longSession', `turn ${known.late.turn} to turn ${known.early.turn}`, ({ lateToEarly }) => toTimes(lateToEarly)),
    row('longSession', '… without reading history', ({ lateToEarlyWithoutHistory }) => toTimes(lateToEarlyWithoutHistory)),
  ]
}

function toWritten({ rows, commits, commitBytes, walBytes }: TurnCost): string {
  const counted = rows === null ? '' : `${rows} rows, `
  return `${counted}${commits} commits of ${toCount(commitBytes / commits)} B, WAL ${toCount(walBytes)} B`
}

function replayRows(places: readonly PlaceResults[]): readonly Row[] {
  return [
    row('replay', `replay of ${toCount(find(places, 'replay')?.events ?? 0)} events, store`, ({ store }) => `${toCount(store)}/s`),
    row('replay', '… feed', ({ feed }) => `${toCount(feed)}/s`),
    row('replay', '… GraphQL over SSE', ({ graphql }) => `${toCount(graphql)}/s`),
  ]
}

function fanOutRows(places: readonly PlaceResults[]): readonly Row[] {
  const { subscribers = 0, sessions = 0 } = find(places, 'fanOut') ?? {}
  const one = (name: 'perdure' | 'bare', figure: string): Row =>
    row('fanOut', figure, ({ [name]: { deliveriesPerSecond, cpuMicros, bytes } }) =>
      [`${toCount(deliveriesPerSecond)} deliveries/s`, `${cpuMicros.toFixed(1)} µs of CPU`, `${toCount(bytes)} B each`].join(', '),
    )
  return [
    one('perdure', `${toCount(subscribers)} subscribers of ${sessions} sessions`),
    one('bare', '… bare Node, the same bytes'),
    row(
      'fanOut',
      '… to bare Node',
      ({ shareOfBare, cpuShareOfBare }) => `${toPercent(shareOfBare)}; ${toPercent(cpuShareOfBare)} by CPU time`,
    ),
  ]
}

function parkedRows(name: 'few' | 'many', places: readonly PlaceResults[]): readonly Row[] {
  const one = (figure: string, show: (side: ParkedSide) => string): Row => row('parked', figure, (of) => show(of[name]))
  return [
    one(`${toCount(find(places, 'parked')?.[name].sessions ?? 0)} parked sessions: message → first event`, ({ firstEvent }) =>
      toSpan(firstEvent),
    ),
    one('… whole turn', ({ turn }) => toSpan(turn)),
    one('… a server on it', toServer),
  ]
}

function toServer({ startMs, residentMiB, databaseMiB }: Pick<ParkedSide, 'startMs' | 'residentMiB' | 'databaseMiB'>): string {
  return `${toCount(residentMiB)} MiB, first answer after ${toSeconds(startMs)}, database ${toCount(databaseMiB)} MiB`
}

function waitingRows(name: 'few' | 'many', places: readonly PlaceResults[]): readonly Row[] {
  const one = (figure: string, show: (side: WaitingSide) => string): Row => row('waiting', figure, (of) => show(of[name]))
  return [
    one(
      `${toCount(find(places, 'waiting')?.[name].sessions ?? 0)} sessions that wait for a person: answer accepted → its call`,
      ({ started }) => toSpan(started),
    ),
    one('… whole turn', ({ turn }) => toSpan(turn)),
    one('… first page of the queue, GraphQL', ({ queue }) => toSpan(queue)),
    one(
      '… held for them',
      ({ held: { leases, connections, timersBefore, timers } }) =>
        `${leases} leases; with and without them ${timers} and ${timersBefore} timers; ${connections} connections of a server`,
    ),
    one('… a server on it', toServer),
  ]
}

function pickUpRows(places: readonly PlaceResults[]): readonly Row[] {
  const { kills = 0, leaseTtlMs = 0 } = find(places, 'pickUp') ?? {}
  return [
    row(
      'pickUp',
      `worker killed mid-turn, ${kills} times, leases of ${toSeconds(leaseTtlMs)}: picked up`,
      ({ pickedUp, maxMs }) => `${toSeconds(pickedUp.p50Ms)} (slowest ${toSeconds(maxMs)})`,
    ),
    row('pickUp', '… turns lost, started calls run twice', ({ lost, repeatedCalls }) => `${lost}, ${repeatedCalls}`),
  ]
}

function rolesRows(places: readonly PlaceResults[]): readonly Row[] {
  const sessions = find(places, 'roles')?.together.sessions ?? 0
  return (['together', 'apart'] as const).flatMap((name) => [
    row('roles', `${name === 'together' ? 'one process' : 'api and worker'}: sent → first event, GraphQL`, ({ [name]: side, ...all }) =>
      [toSpan(side.firstEvent), ...(name === 'apart' ? [`${toTimes(all.firstEventRatio)} one process`] : [])].join('; '),
    ),
    row('roles', `… turns, ${sessions} sessions, GraphQL`, ({ [name]: side, ...all }) =>
      [`${toCount(side.turnsPerSecond)}/s`, ...(name === 'apart' ? [`${toTimes(all.turnsRatio)} one process`] : [])].join('; '),
    ),
  ])
}

function countRows(turn: string, places: readonly PlaceResults[], pick: (of: Figures['transactions']) => Counts): readonly Row[] {
  const counted = places.flatMap(({ figures }) => (figures.transactions === undefined ? [] : [pick(figures.transactions)]))
  const names = [...new Set(counted.flatMap((counts) => Object.keys(counts)))]
  const sum = (counts: Counts): number => Object.values(counts).reduce((total, count) => total + count, 0)
  return [
    row('transactions', `transactions, ${turn}`, (of) => toShortNumber(sum(pick(of)))),
    ...names.map((name) => row('transactions', `… ${name}`, (of) => toShortNumber(pick(of)[name] ?? 0))),
  ]
}
