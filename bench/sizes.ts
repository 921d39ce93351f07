/** How much of everything a run does. */
export interface Sizes {
  /** Rounds in which the variants of a measurement take turns. */
  readonly rounds: number
  /** Bare commits a round. */
  readonly bareCommits: number
  /** One-tool steps in a turn, and such turns a round. */
  readonly steps: number
  readonly stepTurns: number
  /** Messages to an idle session, a round. */
  readonly sends: number
  /** Turns a round and session, by the number of concurrent sessions. */
  readonly throughput: readonly { readonly sessions: number; readonly turns: number }[]
  readonly throughputRounds: number
  /** The late turn of a long session, and how often it is compared with the fifth of a new one. */
  readonly lateTurn: number
  readonly lateSamples: number
  /** Events of the log that is replayed. */
  readonly events: number
  /** Turns whose transactions are counted. */
  readonly countedTurns: number
  /** Rounds a sample, samples a side. `subscribers` is a multiple of `sessions`. */
  readonly fanOut: { readonly sessions: number; readonly subscribers: number; readonly rounds: number; readonly samples: number }
  /** Parked sessions, and how many of them are woken in a round. */
  readonly parked: { readonly few: number; readonly many: number; readonly wakes: number }
  readonly waiting: WaitingSizes
  readonly pickUp: { readonly leaseTtlMs: number; readonly kills: number }
  readonly roles: { readonly rounds: number; readonly sends: number; readonly sessions: number; readonly turns: number }
  readonly peers: PeerSizes
}

export interface WaitingSizes {
  /** Copies that wait in the database. */
  readonly few: number
  readonly many: number
  /** Sessions that the process itself drove until they waited, on either side. */
  readonly driven: number
  /** How many are answered, and how often the queue is read, in a round. */
  readonly wakes: number
  readonly queries: number
  /** What is held of them is looked at so long after the last one was parked: histories are kept for a minute, idle connections for less. */
  readonly restMs: number
}

export interface PeerSizes {
  readonly rounds: number
  /** Turns of one session alone, a round; steps of one turn. */
  readonly turns: number
  readonly steps: number
  /** Turns of each of so many sessions at once, a round. */
  readonly load: { readonly sessions: number; readonly turns: number }
  /** The late turn that is compared with turn 5. */
  readonly lateTurn: number
  /** How long a killed turn is waited for. */
  readonly capMs: number
}

export const FULL: Sizes = {
  rounds: 5,
  bareCommits: 1000,
  steps: 8,
  stepTurns: 40,
  sends: 150,
  throughput: [
    { sessions: 1, turns: 200 },
    { sessions: 8, turns: 80 },
    { sessions: 32, turns: 40 },
  ],
  throughputRounds: 3,
  lateTurn: 1000,
  lateSamples: 40,
  events: 20_000,
  countedTurns: 20,
  fanOut: { sessions: 50, subscribers: 1000, rounds: 60, samples: 5 },
  parked: { few: 1000, many: 1_000_000, wakes: 100 },
  waiting: { few: 1000, many: 100_000, driven: 100, wakes: 100, queries: 20, restMs: 61_000 },
  pickUp: { leaseTtlMs: 10_000, kills: 6 },
  roles: { rounds: 5, sends: 100, sessions: 32, turns: 30 },
  peers: { rounds: 3, turns: 40, steps: 10, load: { sessions: 32, turns: 20 }, lateTurn: 300, capMs: 120_000 },
}

export const QUICK: Sizes = {
  rounds: 3,
  bareCommits: 100,
  steps: 5,
  stepTurns: 2,
  sends: 8,
  throughput: [
    { sessions: 1, turns: 15 },
    { sessions: 8, turns: 6 },
    { sessions: 32, turns: 4 },
  ],
  throughputRounds: 2,
  lateTurn: 100,
  lateSamples: 5,
  events: 4000,
  countedTurns: 5,
  fanOut: { sessions: 50, subscribers: 1000, rounds: 20, samples: 2 },
  parked: { few: 1000, many: 100_000, wakes: 10 },
  waiting: { few: 1000, many: 100_000, driven: 100, wakes: 10, queries: 5, restMs: 61_000 },
  pickUp: { leaseTtlMs: 2000, kills: 2 },
  roles: { rounds: 2, sends: 8, sessions: 32, turns: 4 },
  peers: { rounds: 1, turns: 10, steps: 5, load: { sessions: 32, turns: 3 }, lateTurn: 60, capMs: 20_000 },
}
