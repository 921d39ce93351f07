/** Figures as people read them. */
import type { Timing } from './results.js'

export function toSpan({ p50Ms, p99Ms }: Timing): string {
  return `${p50Ms.toFixed(2)} ms (p99 ${p99Ms.toFixed(2)})`
}

export function toTimes(ratio: number): string {
  return `${ratio.toFixed(2)} ×`
}

export function toCount(value: number): string {
  return Math.round(value).toLocaleString('en')
}

export function toShortNumber(value: number): string {
  return String(Number(value.toFixed(2)))
}

export function toPercent(share: number): string {
  return `${(100 * share).toFixed(0)} %`
}

export function toSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
