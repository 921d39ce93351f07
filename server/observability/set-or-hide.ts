import type { Gauge } from 'prom-client'

/** A figure that is not known has no value: 0 would be a lie. */
export function setOrHide(gauge: Gauge, value: number | null): void {
  if (value === null) gauge.remove()
  else gauge.set(value)
}
