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
  readonly machine: Machine
  readonly places: readonly PlaceResults[]
  /** Null: not asked for. */
  readonly peers: PeersResults | null
}
export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryGiB: number
  readonly system: string
  readonly node: string
  /** Runnable processes, averaged over the minute before the run: above 0, others used the machine too. */
  readonly load: number
}

export interface PlaceResults {
  readonly kind: 'embedded' | 'postgres'
  /** As the database names itself, with whether it waits for the disk. */
  readonly server: string
  readonly fsync: boolean
  /** How processes tell each other of news. */
  readonly coordination: 'local' | 'redis'
  /** What was asked for, and can be measured there. */
  readonly figures: Partial<Figures>
}
export interface Figures {
  readonly bareCommit: Timing
  readonly toolStep: ToolStep
  readonly firstEvent: { readonly inProcess: FirstEvent; readonly http: FirstEvent }
  readonly throughput: readonly Throughput[]
  readonly longSession: LongSession
  readonly replay: Replay
  readonly transactions: { readonly simpleTurn: Counts; readonly oneToolTurn: Counts }
  readonly fanOut: FanOut
  readonly parked: Parked
  readonly waiting: Waiting
  readonly pickUp: PickUp
  readonly roles: Roles
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

export interface FanOut {
  readonly sessions: number
  readonly subscribers: number
  readonly perdure: FanOutSide
  readonly bare: FanOutSide
  /** Deliveries a second as a share of bare Node's: 1 is as many. The audience needs a core too, which flatters the slower side. */
  readonly shareOfBare: number
  /** The same by the CPU time of the serving process: what it could do with an audience that costs nothing. */
  readonly cpuShareOfBare: number
}
export interface FanOutSide {
  /** One event at one subscriber is one delivery. */
  readonly deliveriesPerSecond: number
  /** CPU time of the process that serves, and bytes on the wire, of a delivery. */
  readonly cpuMicros: number
  readonly bytes: number
}

export interface Parked {
  readonly few: ParkedSide
  readonly many: ParkedSide
  /** Of the time to the first event. */
  readonly manyToFew: Ratio
}
export interface ParkedSide {
  readonly sessions: number
  /** From a message to a session that nobody has touched since it was parked to the first event, and to the end, of its turn. */
  readonly firstEvent: Timing
  readonly turn: Timing
  /** Of a server process on this database that has just started: from its start to its first answer, and its resident memory then. */
  readonly startMs: number
  readonly residentMiB: number
  /** Of the database on disk. */
  readonly databaseMiB: number
}

export interface Waiting {
  readonly few: WaitingSide
  readonly many: WaitingSide
  /** Of `started`, of `turn`, and of `queue`. */
  readonly manyToFew: Ratio
  readonly turnManyToFew: Ratio
  readonly queueManyToFew: Ratio
}
export interface WaitingSide {
  readonly sessions: number
  /** From the acceptance of a person's answer to the start of the call that it allows, at a subscriber; from sending it to the end of its turn. */
  readonly started: Timing
  readonly turn: Timing
  /** The first page of the reviewer's queue, over GraphQL. */
  readonly queue: Timing
  readonly held: Held
  /** As of the parked ones. */
  readonly startMs: number
  readonly residentMiB: number
  readonly databaseMiB: number
}
/** While all of them wait. */
export interface Held {
  /** Sessions that the database says somebody drives. */
  readonly leases: number
  /** To the database, of a server process that serves nobody. */
  readonly connections: number
  /** Of the process that parked them: before there was any, and now. */
  readonly timersBefore: number
  readonly timers: number
}

export interface PickUp {
  readonly leaseTtlMs: number
  /** From the kill to the next event of the session. */
  readonly pickedUp: Timing
  readonly maxMs: number
  /** Turns that did not come to their end with the whole answer, of so many. */
  readonly kills: number
  readonly lost: number
  /** Runs of a started call that is not idempotent, beyond the first. */
  readonly repeatedCalls: number
}

export interface Roles {
  readonly together: RolesSide
  readonly apart: RolesSide
  /** Apart to together, of the time to the first event and of turns a second. */
  readonly firstEventRatio: Ratio
  readonly turnsRatio: Ratio
}
export interface RolesSide {
  readonly firstEvent: Timing
  readonly sessions: number
  readonly turnsPerSecond: number
}

export interface PeersResults {
  readonly perdure: PeerSide
  readonly eve: PeerSide
  /** How many times as many turns a second as eve. */
  readonly turnsRatio: Ratio
}
export interface PeerSide {
  readonly name: string
  /** Where it keeps what it must not lose. */
  readonly storage: string
  readonly sessions: number
  readonly turnsPerSecond: number
  readonly firstEvent: Timing
  readonly turn: Timing
  /** What a turn takes longer for each step with one tool call. */
  readonly perStepMs: number
  readonly longSession: {
    readonly early: number
    readonly late: number
    readonly earlyMs: number
    readonly lateMs: number
    readonly lateToEarly: Ratio
  }
  /** From the kill of its one process, which is started again at once, to the next event of the session; null: not within `capMs`. */
  readonly afterKillMs: number | null
  readonly capMs: number
}
