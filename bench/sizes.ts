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
}

export const FULL: Sizes = {
  rounds: 5,
  bareCommits: 300,
  steps: 8,
  stepTurns: 5,
  sends: 25,
  throughput: [
    { sessions: 1, turns: 60 },
    { sessions: 8, turns: 25 },
    { sessions: 32, turns: 12 },
  ],
  throughputRounds: 3,
  lateTurn: 500,
  lateSamples: 15,
  events: 20_000,
  countedTurns: 20,
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
}
