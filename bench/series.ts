/**
 * Variants of a measurement take turns, round after round, so that whatever else the machine does meets all of them. A ratio is the
 * median of the ratios within a round.
 */
import { systemClock } from '../server/clock.js'
import type { Ratio, Timing } from './results.js'

/** One variant: `sample` measures some times and answers milliseconds, one number each. */
export interface Series {
  readonly sample: () => Promise<readonly number[]>
  readonly rounds: (readonly number[])[]
}

export function createSeries(sample: () => Promise<readonly number[]>): Series {
  return { sample, rounds: [] }
}

/** A round that does not count, then `rounds` that do. Throws the signal's reason when it aborts. */
export async function alternate(series: readonly Series[], rounds: number, signal: AbortSignal): Promise<void> {
  for (let round = 0; round <= rounds; round += 1) {
    for (const one of series) {
      signal.throwIfAborted()
      const samples = await one.sample()
      if (round > 0) one.rounds.push(samples)
    }
  }
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = systemClock.monotonic()
  await work()
  return systemClock.monotonic() - started
}

/** Samples one after the other. */
export async function repeat(times: number, sample: () => Promise<number>): Promise<readonly number[]> {
  const samples: number[] = []
  while (samples.length < times) samples.push(await sample())
  return samples
}

export function toTiming({ rounds }: Series): Timing {
  const samples = rounds.flat()
  return { p50Ms: quantile(samples, 0.5), p99Ms: quantile(samples, 0.99), samples: samples.length }
}

export function toRatio(one: Series, other: Series): Ratio {
  return median(one.rounds.map((samples, round) => median(samples) / median(other.rounds[round] ?? [])))
}

export function median(samples: readonly number[]): number {
  return quantile(samples, 0.5)
}

/** Between the two nearest samples; NaN of none. */
function quantile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b)
  const place = (sorted.length - 1) * share
  const below = sorted[Math.floor(place)] ?? Number.NaN
  const above = sorted[Math.ceil(place)] ?? Number.NaN
  return below + (above - below) * (place - Math.floor(place))
}
