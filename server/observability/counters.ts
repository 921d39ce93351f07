/** What only grows: events of this process, counted as they are told. Every series is there from the start, so that rates miss no first event. */
import { Counter, Histogram, type Registry } from 'prom-client'
import type { Meter } from '../session/meter.js'

const MS_PER_SECOND = 1000
const CLAIM_OUTCOMES: readonly Parameters<Meter['claimed']>[0][] = ['driven', 'not-due', 'failed']
const TURN_OUTCOMES: readonly Parameters<Meter['turnEnded']>[0]['outcome'][] = ['completed', 'failed', 'cancelled']
const TOKEN_KINDS = ['prompt', 'completion'] as const
/** From a scripted answer to a turn that waited for somebody, seconds. */
const TURN_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

export type Counters = Omit<Meter, 'polled'>

export function addCounters(registry: Registry, agents: readonly string[]): Counters {
  return { ...addLeaseCounters(registry), ...addWorkCounters(registry), ...addTurnFigures(registry, agents) }
}

function addLeaseCounters(registry: Registry): Pick<Counters, 'claimed' | 'leaseLost' | 'fenced'> {
  const registers = [registry]
  const claims = new Counter({
    name: 'perdure_claims_total',
    help: 'Sessions that were asked for, by outcome: driven, not-due (another process was first, or there was nothing to do), failed (the database did not answer).',
    labelNames: ['outcome'],
    registers,
  })
  for (const outcome of CLAIM_OUTCOMES) claims.inc({ outcome }, 0)
  const losses = new Counter({
    name: 'perdure_lease_losses_total',
    help: 'Leases that this process held and lost: not renewed in time, or taken by another.',
    registers,
  })
  const fenced = new Counter({
    name: 'perdure_fenced_writes_total',
    help: 'Writes that were refused because another process has a newer lease.',
    registers,
  })
  return {
    claimed: (outcome) => claims.inc({ outcome }),
    leaseLost: () => losses.inc(),
    fenced: () => fenced.inc(),
  }
}

function addWorkCounters(registry: Registry): Pick<Counters, 'eventsWritten' | 'coordinationFailed'> {
  const registers = [registry]
  const events = new Counter({
    name: 'perdure_events_written_total',
    help: 'Events that this process wrote to the logs of sessions.',
    registers,
  })
  const failures = new Counter({
    name: 'perdure_coordination_failures_total',
    help: 'Commands that Redis did not take or answer.',
    registers,
  })
  return { eventsWritten: (count) => events.inc(count), coordinationFailed: () => failures.inc() }
}

function addTurnFigures(registry: Registry, agents: readonly string[]): Pick<Counters, 'turnEnded'> {
  const registers = [registry]
  const durations = new Histogram({
    name: 'perdure_turn_duration_seconds',
    help: 'Time from the start of a turn to its end, waiting included, by agent and outcome.',
    labelNames: ['agent', 'outcome'],
    buckets: TURN_BUCKETS,
    registers,
  })
  const tokens = new Counter({
    name: 'perdure_tokens_total',
    help: 'Tokens of the turns that ended here, as the providers counted them, by agent and kind: prompt, completion.',
    labelNames: ['agent', 'kind'],
    registers,
  })
  for (const agent of agents) {
    for (const outcome of TURN_OUTCOMES) durations.zero({ agent, outcome })
    for (const kind of TOKEN_KINDS) tokens.inc({ agent, kind }, 0)
  }
  return {
    turnEnded({ agent, outcome, durationMs, promptTokens, completionTokens }) {
      durations.observe({ agent, outcome }, Math.max(durationMs, 0) / MS_PER_SECOND)
      tokens.inc({ agent, kind: 'prompt' }, promptTokens)
      tokens.inc({ agent, kind: 'completion' }, completionTokens)
    },
  }
}
