/** What was promised (docs/performance.md), row by row, and whether a run keeps it. */
import type { Figures, Held, PeersResults, Results, Waiting } from './results.js'
import { toCount, toPercent, toSeconds, toTimes } from './words.js'

/** What a run says of a row. */
export interface Verdict {
  readonly figure: string
  readonly measured: string
  readonly budget: string
  readonly isMet: boolean
  readonly stretch: string | null
  readonly isStretchMet: boolean | null
}

/** One figure with a bound. */
interface Bound {
  readonly figure: string
  readonly value: number
  readonly show: (value: number) => string
  readonly isAtMost: boolean
  readonly budget: number
  readonly stretch?: number
}
interface Measured {
  readonly figures: Partial<Figures>
  readonly peers: PeersResults | null
}

/** Judges the last place of a run: PostgreSQL, when it is measured. Rows that were not measured are left out. */
export function judge({ places, peers }: Results): readonly Verdict[] {
  const measured: Measured = { figures: places.at(-1)?.figures ?? {}, peers }
  return BUDGET.flatMap((toBounds) => toBounds(measured)).map(toVerdict)
}

function toVerdict({ figure, value, show, isAtMost, budget, stretch }: Bound): Verdict {
  const keeps = (bound: number): boolean => (isAtMost ? value <= bound : value >= bound)
  const sign = isAtMost ? '≤' : '≥'
  return {
    figure,
    measured: show(value),
    budget: `${sign} ${show(budget)}`,
    isMet: keeps(budget),
    stretch: stretch === undefined ? null : `${sign} ${show(stretch)}`,
    isStretchMet: stretch === undefined ? null : keeps(stretch),
  }
}

const atMost = { isAtMost: true, show: toTimes } as const
const atLeast = { isAtMost: false, show: toTimes } as const
const perSecond = (value: number): string => `${toCount(value)}/s`
const NOTHING = 0
/** A process of the server needs some hundred; two that do the same differ by a few. */
const SAME_MEMORY = 1.1
/** Of an idle pool. */
const KEPT_CONNECTIONS = 2

const BUDGET: readonly ((measured: Measured) => readonly Bound[])[] = [
  ({ figures: { toolStep } }) =>
    toolStep === undefined
      ? []
      : [
          { ...atMost, figure: 'one-tool step to a bare commit', value: toolStep.toBare, budget: 5, stretch: 4 },
          { ...atMost, figure: 'one-tool step to its statements', value: toolStep.toStatements, budget: 1.3 },
        ],
  ({ figures: { firstEvent } }) =>
    firstEvent === undefined
      ? []
      : [
          {
            ...{ ...atMost, figure: 'accepted → first event, to a bare commit', value: firstEvent.inProcess.acceptedToBare },
            ...{ budget: 5, stretch: 4 },
          },
        ],
  ({ peers }) =>
    peers === null
      ? []
      : [
          {
            ...{ ...atLeast, figure: `turns/s, ${peers.perdure.sessions} sessions, to ${peers.eve.name}`, value: peers.turnsRatio },
            ...{ budget: 15, stretch: 25 },
          },
        ],
  ({ figures: { longSession } }) =>
    longSession === undefined
      ? []
      : [
          {
            ...{ ...atMost, figure: `turn ${longSession.late.turn} to turn ${longSession.early.turn}, model input aside` },
            ...{ value: longSession.lateToEarlyWithoutHistory, budget: 1.2, stretch: 1.1 },
          },
        ],
  ({ figures: { parked } }) =>
    parked === undefined
      ? []
      : [
          {
            ...{ ...atMost, figure: `${toCount(parked.many.sessions)} parked sessions to ${toCount(parked.few.sessions)}: waking one` },
            ...{ value: parked.manyToFew, budget: 1.2 },
          },
          { ...atMost, figure: '… memory of a server', value: parked.many.residentMiB / parked.few.residentMiB, budget: SAME_MEMORY },
        ],
  ({ figures: { waiting } }) => (waiting === undefined ? [] : toWaitingBounds(waiting)),
  ({ figures: { replay } }) =>
    replay === undefined
      ? []
      : [
          { ...atLeast, figure: 'replay of a log from the store', value: replay.store, show: perSecond, budget: 50_000 },
          { ...atLeast, figure: '… through GraphQL over SSE', value: replay.graphql, show: perSecond, budget: 20_000 },
        ],
  ({ figures: { fanOut } }) =>
    fanOut === undefined
      ? []
      : [
          {
            ...{ ...atLeast, figure: `${toCount(fanOut.subscribers)} subscribers of ${fanOut.sessions} sessions, to bare Node` },
            ...{ value: Math.min(fanOut.shareOfBare, fanOut.cpuShareOfBare), show: toPercent, budget: 0.5, stretch: 0.7 },
          },
        ],
  ({ figures: { pickUp } }) =>
    pickUp === undefined
      ? []
      : [
          {
            ...{ ...atMost, figure: 'worker killed mid-turn → picked up, the slowest', value: pickUp.maxMs, show: toSeconds },
            budget: pickUp.leaseTtlMs + 1000,
          },
          { ...atMost, figure: '… turns lost', value: pickUp.lost, show: toCount, budget: NOTHING },
          { ...atMost, figure: '… started calls run twice', value: pickUp.repeatedCalls, show: toCount, budget: NOTHING },
        ],
]

function toWaitingBounds({ few, many, manyToFew, turnManyToFew, queueManyToFew }: Waiting): readonly Bound[] {
  const figure = `${toCount(many.sessions)} sessions that wait for a person to ${toCount(few.sessions)}: answering one`
  return [
    { ...atMost, figure, value: manyToFew, budget: 1.2 },
    { ...atMost, figure: '… whole turn', value: turnManyToFew, budget: 1.2 },
    { ...atMost, figure: '… first page of the queue', value: queueManyToFew, budget: 1.2 },
    { ...atMost, figure: '… memory of a server', value: many.residentMiB / few.residentMiB, budget: SAME_MEMORY },
    {
      ...atMost,
      figure: '… leases, timers, connections for them',
      value: toHeld(few.held) + toHeld(many.held),
      show: toCount,
      budget: NOTHING,
    },
  ]
}

/** Leases, timers that were not there before them, and connections that a server at rest does not keep anyway. */
function toHeld({ leases, timers, timersBefore, connections }: Held): number {
  return leases + Math.max(0, timers - timersBefore) + Math.max(0, connections - KEPT_CONNECTIONS)
}
