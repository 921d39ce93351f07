/**
 * What Node and the operating system say of this process, under the names that dashboards for Node know. Own, since what observes the
 * event loop and the garbage collector has to end with its owner: a program may open and close many servers.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { PerformanceObserver, constants, monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { setOrHide } from './set-or-hide.js'

const SAMPLE_EVERY_MS = 20
const SECOND = { ms: 1e3, us: 1e6, ns: 1e9 } as const
const COLLECTIONS: ReadonlyMap<unknown, string> = new Map([
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
])

/** Adds them to the registry; the answer stops what watches. */
export function addProcessFigures(registry: Registry): () => void {
  addProcess(registry)
  addMemory(registry)
  const stops = [watchEventLoop(registry), watchCollections(registry)]
  return () => {
    for (const stop of stops) stop()
  }
}

function addProcess(registry: Registry): void {
  const registers = [registry]
  const cpu: Counter = new Counter({
    name: 'process_cpu_seconds_total',
    help: 'Processor time used by the process, user and system.',
    registers,
    collect: () => {
      const { user, system } = process.cpuUsage()
      cpu.reset()
      cpu.inc((user + system) / SECOND.us)
    },
  })
  const startedAt = Math.round(Date.now() / SECOND.ms - process.uptime())
  new Gauge({ name: 'process_start_time_seconds', help: 'When the process began, seconds since 1970.', registers }).set(startedAt)
  const files: Gauge = new Gauge({
    name: 'process_open_fds',
    help: 'Open files and sockets (Linux).',
    registers,
    collect: () => {
      setOrHide(files, countOpenFiles())
    },
  })
  const limit = readOpenFilesLimit()
  setOrHide(new Gauge({ name: 'process_max_fds', help: 'Files and sockets that may be open at most (Linux).', registers }), limit)
}

function addMemory(registry: Registry): void {
  const registers = [registry]
  const resident: Gauge = new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Memory of the process that is in RAM.',
    registers,
    collect: () => {
      const { rss, heapTotal, heapUsed, external } = process.memoryUsage()
      resident.set(rss)
      total.set(heapTotal)
      used.set(heapUsed)
      outside.set(external)
    },
  })
  const total = new Gauge({ name: 'nodejs_heap_size_total_bytes', help: 'Size of the JavaScript heap.', registers })
  const used = new Gauge({ name: 'nodejs_heap_size_used_bytes', help: 'Used part of the JavaScript heap.', registers })
  const outside = new Gauge({ name: 'nodejs_external_memory_bytes', help: 'Memory of objects outside the JavaScript heap.', registers })
}

/** How late a timer is that runs every 20 ms. Of the time since the last scrape: whoever scrapes resets it. */
function watchEventLoop(registry: Registry): () => void {
  const delay = monitorEventLoopDelay({ resolution: SAMPLE_EVERY_MS })
  delay.enable()
  const registers = [registry]
  const lag: Gauge = new Gauge({
    name: 'nodejs_eventloop_lag_p50_seconds',
    help: 'How late timers were, the median since the last scrape.',
    registers,
    collect: () => {
      const late = (ns: number): number | null => (delay.count === 0 ? null : Math.max(ns / SECOND.ns - SAMPLE_EVERY_MS / SECOND.ms, 0))
      setOrHide(lag, late(delay.percentile(50)))
      setOrHide(most, late(delay.percentile(99)))
      setOrHide(worst, late(delay.max))
      delay.reset()
    },
  })
  const most = new Gauge({
    name: 'nodejs_eventloop_lag_p99_seconds',
    help: 'How late timers were, 99 in 100 since the last scrape.',
    registers,
  })
  const worst = new Gauge({
    name: 'nodejs_eventloop_lag_max_seconds',
    help: 'How late timers were, the worst since the last scrape.',
    registers,
  })
  return () => {
    delay.disable()
  }
}

function watchCollections(registry: Registry): () => void {
  const durations = new Histogram({
    name: 'nodejs_gc_duration_seconds',
    help: 'Time that collecting garbage took, by kind: major, minor, incremental or weakcb.',
    labelNames: ['kind'],
    buckets: [0.001, 0.01, 0.1, 1],
    registers: [registry],
  })
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) durations.observe({ kind: kindOf(entry) }, entry.duration / SECOND.ms)
  })
  observer.observe({ entryTypes: ['gc'] })
  return () => {
    observer.disconnect()
  }
}

function kindOf(entry: object): string {
  const detail: unknown = 'detail' in entry ? entry.detail : null
  const kind: unknown = typeof detail === 'object' && detail !== null && 'kind' in detail ? detail.kind : null
  return COLLECTIONS.get(kind) ?? 'other'
}

function countOpenFiles(): number | null {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return null
  }
}

function readOpenFilesLimit(): number | null {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return limit === undefined ? null : Number(limit)
  } catch {
    return null
  }
}
