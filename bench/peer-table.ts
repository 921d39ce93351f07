/** The peers side by side. */
import type { PeerSide, PeersResults } from './results.js'
import { toCount, toSeconds, toSpan, toTimes } from './words.js'

/** No line when there are none. */
export function toPeerTable(peers: PeersResults | null): readonly (readonly string[])[] {
  if (peers === null) return []
  const sides = [peers.perdure, peers.eve]
  const line = (figure: string, show: (side: PeerSide) => string): readonly string[] => [figure, ...sides.map(show)]
  const { sessions, longSession } = peers.perdure
  return [
    line('the same work', ({ name }) => name),
    line('keeps what it must not lose in', ({ storage }) => storage),
    line(`turns, ${sessions} sessions`, ({ turnsPerSecond }) => `${toCount(turnsPerSecond)}/s`),
    line('message → first event, 1 session', ({ firstEvent }) => toSpan(firstEvent)),
    line('message → end of the turn, 1 session', ({ turn }) => toSpan(turn)),
    line('each step with one tool call', ({ perStepMs }) => `${perStepMs.toFixed(1)} ms`),
    line(`turn ${longSession.late} to turn ${longSession.early}`, ({ longSession: { lateToEarly, earlyMs, lateMs } }) =>
      [toTimes(lateToEarly), `${earlyMs.toFixed(1)} → ${lateMs.toFixed(1)} ms`].join('; '),
    ),
    line('killed mid-turn, started again at once → goes on', ({ afterKillMs, capMs }) =>
      afterKillMs === null ? `not within ${toSeconds(capMs)}` : toSeconds(afterKillMs),
    ),
  ]
}
