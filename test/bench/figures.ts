/** What a run of the bench has to look like: every figure there, and such that it can be true. */
import { z } from 'zod'

const Positive = z.number().positive()
const Count = z.number().int().nonnegative()
const Timing = z
  .strictObject({ p50Ms: z.number().nonnegative(), p99Ms: z.number().nonnegative(), samples: z.number().int().positive() })
  .refine(({ p50Ms, p99Ms }) => p50Ms <= p99Ms, 'p50 is over p99')
const Taken = Timing.refine(({ p50Ms }) => p50Ms > 0, 'nothing takes no time')
const FirstEvent = z
  .strictObject({ sinceSent: Taken, sinceAccepted: Timing, sentToBare: Positive, acceptedToBare: z.number().nonnegative() })
  .refine(({ sinceSent, sinceAccepted }) => sinceAccepted.p50Ms < sinceSent.p50Ms, 'counted from the answer it is no shorter')
const TurnCost = z.strictObject({
  turn: Positive,
  perTurn: Taken,
  // None is read while a conversation goes on in one process.
  readingHistory: Timing,
  commits: z.literal(2),
  rows: z.number().min(10).max(100),
  commitBytes: z.number().min(500).max(20_000),
  walBytes: Positive,
})
const Counts = z.record(z.string(), Positive)
const FanOutSide = z.strictObject({ deliveriesPerSecond: Positive, cpuMicros: Positive, bytes: z.number().min(100).max(5000) })
const ParkedSide = z.strictObject({
  ...{ sessions: Positive, firstEvent: Taken, turn: Taken, startMs: z.number().min(50) },
  residentMiB: z.number().min(40).max(2000),
  databaseMiB: z.number().min(1).max(2000),
})
const WaitingSide = z.strictObject({
  ...{ sessions: Positive, started: Timing, turn: Taken, queue: Taken, startMs: z.number().min(50) },
  residentMiB: z.number().min(40).max(2000),
  databaseMiB: z.number().min(1).max(2000),
  // One timer more for a minute: the histories of what was just driven.
  held: z
    .strictObject({ leases: z.literal(0), connections: Positive.max(10), timersBefore: Count, timers: Count })
    .refine(({ timersBefore, timers }) => timers <= timersBefore + 1, 'sessions that wait have timers'),
})
const RolesSide = z.strictObject({ firstEvent: Taken, sessions: Positive, turnsPerSecond: Positive })

const Figures = z
  .strictObject({
    bareCommit: Taken,
    toolStep: z.strictObject({ perStep: Taken, statements: Taken, toBare: Positive, toStatements: Positive }),
    firstEvent: z.strictObject({ inProcess: FirstEvent, http: FirstEvent }),
    throughput: z.array(z.strictObject({ way: z.enum(['in process', 'http']), sessions: Positive, turnsPerSecond: Positive })),
    longSession: z.strictObject({ early: TurnCost, late: TurnCost, lateToEarly: Positive, lateToEarlyWithoutHistory: Positive }),
    replay: z.strictObject({ events: Positive, store: Positive, feed: Positive, graphql: Positive }),
    transactions: z.strictObject({ simpleTurn: Counts, oneToolTurn: Counts }),
    fanOut: z
      .strictObject({
        sessions: Positive,
        subscribers: Positive,
        perdure: FanOutSide,
        bare: FanOutSide,
        shareOfBare: z.number().min(0).max(5),
        cpuShareOfBare: z.number().min(0).max(5),
      })
      .refine(({ perdure, bare }) => Math.abs(perdure.bytes / bare.bytes - 1) < 0.1, 'not the same bytes'),
    parked: z
      .strictObject({ few: ParkedSide, many: ParkedSide, manyToFew: Positive })
      .refine(({ few, many }) => many.databaseMiB > few.databaseMiB, 'more sessions take no more room'),
    waiting: z
      .strictObject({ few: WaitingSide, many: WaitingSide, manyToFew: Positive, turnManyToFew: Positive, queueManyToFew: Positive })
      .refine(({ few, many }) => many.databaseMiB > few.databaseMiB, 'more sessions take no more room'),
    pickUp: z
      .strictObject({ leaseTtlMs: Positive, pickedUp: Taken, maxMs: Positive, kills: Positive, lost: Count, repeatedCalls: Count })
      .refine(({ pickedUp, maxMs }) => maxMs >= pickedUp.p50Ms, 'the slowest is faster than most'),
    roles: z.strictObject({ together: RolesSide, apart: RolesSide, firstEventRatio: Positive, turnsRatio: Positive }),
  })
  .partial()

export const Machine = z.strictObject({
  cpu: z.string(),
  cores: Positive,
  memoryGiB: Positive,
  system: z.string(),
  node: z.literal(process.version),
  load: z.number(),
})
export const ResultsSchema = z.strictObject({
  version: z.literal('9.9.9'),
  at: z.iso.datetime(),
  machine: Machine,
  places: z.array(
    z.strictObject({
      kind: z.enum(['embedded', 'postgres']),
      server: z.string().regex(/PostgreSQL \d/),
      fsync: z.boolean(),
      coordination: z.enum(['local', 'redis']),
      figures: Figures,
    }),
  ),
  peers: z.null(),
})
