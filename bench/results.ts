/** What a run finds out, as it is written to JSON. Milliseconds, unless a name says otherwise. */

export interface Timing {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly samples: number
}
/** How many times as long: median of the rounds' ratios. */
export type Ratio = number

export interface Results {
  readonly version: string
  /** ISO 8601. */
  readonly at: string
  readonly machine: {
    readonly cpu: string
    readonly cores: number
    readonly memoryGiB: number
    readonly system: string
    readonly node: string
    /** Runnable processes, averaged over the minute before the run: above 0, others used the machine too. */
    readonly load: number
  }
  readonly databases: readonly DatabaseResults[]
}

export interface DatabaseResults {
  readonly kind: 'embedded' | 'postgres'
  /** As the database names itself, with whether it waits for the disk. */
  readonly server: string
  readonly fsync: boolean
  readonly bareCommit: Timing
  readonly toolStep: ToolStep
  readonly firstEvent: { readonly inProcess: FirstEvent; readonly http: FirstEvent }
  readonly throughput: readonly Throughput[]
  readonly longSession: LongSession
  readonly replay: Replay
  readonly transactions: { readonly simpleTurn: Counts; readonly oneToolTurn: Counts }
}

export interface ToolStep {
  readonly perStep: Timing
  /** The same statements with values of the same shape, sent one after the other. */
  readonly statements: Timing
  readonly toBare: Ratio
  readonly toStatements: Ratio
}

export interface FirstEvent {
  /** From the call, and from its answer; the event may come before the answer, which counts as 0. */
  readonly sinceSent: Timing
  readonly sinceAccepted: Timing
  /** Of `sinceSent`, and of `sinceAccepted`. */
  readonly sentToBare: Ratio
  readonly acceptedToBare: Ratio
}

export interface Throughput {
  readonly way: 'in process' | 'http'
  readonly sessions: number
  readonly turnsPerSecond: number
}

export interface LongSession {
  readonly early: TurnCost
  readonly late: TurnCost
  readonly lateToEarly: Ratio
  /** Without reading the history, which is the model's input. */
  readonly lateToEarlyWithoutHistory: Ratio
}
export interface TurnCost {
  readonly turn: number
  readonly perTurn: Timing
  readonly readingHistory: Timing
  readonly commits: number
  /** Rows written by the turn, as the database counts them; null where it can't be asked (PostgreSQL before 15). */
  readonly rows: number | null
  /** What the turn's commits were given, and what its transactions wrote to the write-ahead log of the whole server. */
  readonly commitBytes: number
  readonly walBytes: number
}

/** Events per second. */
export interface Replay {
  readonly events: number
  readonly store: number
  readonly feed: number
  readonly graphql: number
}

/** Transactions a turn, by the name of their statement. */
export type Counts = Readonly<Record<string, number>>
