/** The bench as small as it can be. */
import type { Sizes } from '../../bench/sizes.js'

export const TINY: Sizes = {
  rounds: 1,
  bareCommits: 3,
  steps: 2,
  stepTurns: 1,
  sends: 2,
  throughput: [
    { sessions: 1, turns: 2 },
    { sessions: 3, turns: 1 },
  ],
  throughputRounds: 1,
  lateTurn: 6,
  lateSamples: 1,
  events: 230,
  countedTurns: 2,
  fanOut: { sessions: 2, subscribers: 6, rounds: 4, samples: 1 },
  parked: { few: 20, many: 500, wakes: 2 },
  waiting: { few: 20, many: 500, driven: 3, wakes: 2, queries: 2, restMs: 0 },
  pickUp: { leaseTtlMs: 1000, kills: 1 },
  roles: { rounds: 1, sends: 2, sessions: 3, turns: 1 },
  peers: { rounds: 1, turns: 1, steps: 1, load: { sessions: 1, turns: 1 }, lateTurn: 6, capMs: 1000 },
}
