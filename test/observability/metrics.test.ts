import { afterEach, describe, expect, test } from 'vitest'
import type { CoordinatorHealth } from '../../server/session/ports.js'
import { settled } from '../support/fake-clock.js'
import { silentLog } from '../support/silent-log.js'
import { countsOf, createFigures, describedIn, samplesOf, type Figures } from './metrics-on-a-clock.js'

const opened: Figures[] = []
afterEach(() => {
  for (const figures of opened.splice(0)) figures.stop()
})
function create(more: Parameters<typeof createFigures>[0] = {}): Figures {
  const figures = createFigures(more)
  opened.push(figures)
  return figures
}

describe('what is told is counted', () => {
  test('claims by outcome, lost leases, fenced writes, events and failures of coordination', async () => {
    const { meter, render } = create()
    for (const outcome of ['driven', 'driven', 'not-due', 'failed'] as const) meter.claimed(outcome)
    meter.leaseLost()
    meter.fenced()
    meter.eventsWritten(7)
    meter.eventsWritten(3)
    meter.coordinationFailed()
    const samples = samplesOf(await render())
    expect(samples.get('perdure_claims_total{outcome="driven"}')).toBe(2)
    expect(samples.get('perdure_claims_total{outcome="not-due"}')).toBe(1)
    expect(samples.get('perdure_claims_total{outcome="failed"}')).toBe(1)
    expect(samples.get('perdure_lease_losses_total')).toBe(1)
    expect(samples.get('perdure_fenced_writes_total')).toBe(1)
    expect(samples.get('perdure_events_written_total')).toBe(10)
    expect(samples.get('perdure_coordination_failures_total')).toBe(1)
  })

  test('turns in seconds, and tokens, by agent', async () => {
    const { meter, render } = create()
    meter.turnEnded({ agent: 'clerk', outcome: 'completed', durationMs: 1200, promptTokens: 100, completionTokens: 20 })
    meter.turnEnded({ agent: 'clerk', outcome: 'failed', durationMs: 90_000, promptTokens: 5, completionTokens: 0 })
    const samples = samplesOf(await render())
    const turns = (rest: string): number | undefined => samples.get(`perdure_turn_duration_seconds_${rest}`)
    expect(turns('sum{agent="clerk",outcome="completed"}')).toBeCloseTo(1.2)
    expect(turns('bucket{le="1",agent="clerk",outcome="completed"}')).toBe(0)
    expect(turns('bucket{le="2.5",agent="clerk",outcome="completed"}')).toBe(1)
    expect(turns('count{agent="clerk",outcome="failed"}')).toBe(1)
    expect(samples.get('perdure_tokens_total{agent="clerk",kind="prompt"}')).toBe(105)
    expect(samples.get('perdure_tokens_total{agent="clerk",kind="completion"}')).toBe(20)
  })

  test('every series is there before anything happened, so that a rate misses no first event', async () => {
    const { meter, render } = create()
    const before = [...samplesOf(await render()).keys()].filter((name) => name.startsWith('perdure_'))
    for (const outcome of ['driven', 'not-due', 'failed'] as const) meter.claimed(outcome)
    for (const agent of ['clerk', 'hello']) {
      for (const outcome of ['completed', 'failed', 'cancelled'] as const) {
        meter.turnEnded({ agent, outcome, durationMs: 1, promptTokens: 1, completionTokens: 1 })
      }
    }
    await settled()
    const after = [...samplesOf(await render()).keys()].filter((name) => name.startsWith('perdure_') && !name.includes('_sessions'))
    expect(after.filter((name) => !before.includes(name))).toEqual([])
  })
})

describe('what is looked up at a scrape', () => {
  test('leases held, slots, subscribers', async () => {
    let active = 3
    const figures = create({ activeSessions: () => active, subscribers: () => 5, slots: 8 })
    expect(await figures.value('perdure_active_sessions')).toBe(3)
    active = 4
    expect(await figures.value('perdure_active_sessions')).toBe(4)
    expect(await figures.value('perdure_slots')).toBe(8)
    expect(await figures.value('perdure_subscribers')).toBe(5)
  })

  test('what the process is', async () => {
    expect(await create().value('perdure_process_info{version="1.2.3",role="all",deployment="blue"}')).toBe(1)
  })

  test('Redis is up, down, or not there at all', async () => {
    let health: CoordinatorHealth = { kind: 'redis', fault: null }
    const figures = create({ coordination: () => health })
    expect(await figures.value('perdure_redis_up')).toBe(1)
    health = { kind: 'redis', fault: 'connect ECONNREFUSED' }
    expect(await figures.value('perdure_redis_up')).toBe(0)
    health = { kind: 'local', fault: null }
    expect(await figures.value('perdure_redis_up')).toBeUndefined()
  })

  test('the age of the last look for due sessions grows until the next one', async () => {
    const figures = create()
    await figures.clock.advance(4000)
    expect(await figures.value('perdure_poll_age_seconds')).toBe(4)
    figures.meter.polled(0)
    await figures.clock.advance(500)
    expect(await figures.value('perdure_poll_age_seconds')).toBe(0.5)
    expect(figures.pollAgeMs()).toBe(500)
  })

  test('a process that drives nothing has no such age', async () => {
    expect(await create({ slots: 0 }).value('perdure_poll_age_seconds')).toBeUndefined()
  })

  test('the queue, as it is now', async () => {
    let state = { due: 12, oldestMs: 2500 }
    const figures = create({ readQueue: () => Promise.resolve(state) })
    expect(await figures.value('perdure_due_sessions')).toBe(12)
    expect(await figures.value('perdure_queue_age_seconds')).toBe(2.5)
    state = { due: 0, oldestMs: 0 }
    await figures.clock.advance(1000)
    expect(await figures.value('perdure_queue_age_seconds')).toBe(0)
  })

  test('sessions by status, and of the open ones those that nobody drives', async () => {
    const counts = countsOf({ RUNNING: 5, IDLE: 20, WAITING_FOR_APPROVAL: 3, COMPLETED: 100 }, 4)
    const figures = create({ countSessions: () => Promise.resolve(counts) })
    await figures.render()
    await settled()
    const samples = samplesOf(await figures.render())
    expect(samples.get('perdure_sessions{status="COMPLETED"}')).toBe(100)
    expect(samples.get('perdure_sessions{status="HIBERNATED"}')).toBe(0)
    expect(samples.get('perdure_parked_sessions')).toBe(24)
  })

  test('the process, under the names that dashboards know', async () => {
    const samples = samplesOf(await create().render())
    expect(samples.get('process_cpu_seconds_total')).toBeGreaterThan(0)
    expect(samples.get('process_resident_memory_bytes')).toBeGreaterThan(10_000_000)
    expect(samples.get('nodejs_heap_size_used_bytes')).toBeGreaterThan(1_000_000)
    expect(samples.get('process_start_time_seconds')).toBeCloseTo(Date.now() / 1000 - process.uptime(), -1)
  })
})

describe('a scrape', () => {
  test('neither waits for a count of sessions nor fails with one', async () => {
    const warned: unknown[] = []
    const log = silentLog({ warn: (...line) => void warned.push(line) })
    let fail = (_: Error): void => undefined
    const figures = create({ countSessions: () => new Promise((_resolve, reject) => (fail = reject)), log })
    expect(await figures.value('perdure_slots')).toBe(16)
    expect(await figures.value('perdure_sessions{status="IDLE"}')).toBeUndefined()
    fail(new Error('the database sleeps'))
    await settled()
    expect(await figures.value('perdure_sessions{status="IDLE"}')).toBeUndefined()
    expect(warned).toEqual([['sessions could not be counted: the database sleeps', { againInS: 60 }]])
  })

  test('waits for the queue half a second, and then does without', async () => {
    const figures = create({ readQueue: () => new Promise(() => undefined) })
    const scraped = figures.render()
    await figures.clock.advance(499)
    expect(await Promise.race([scraped, Promise.resolve('waits')])).toBe('waits')
    await figures.clock.advance(1)
    const samples = samplesOf(await scraped)
    expect(samples.get('perdure_due_sessions')).toBeUndefined()
    expect(samples.get('perdure_slots')).toBe(16)
  })

  test('counts once for all who scrape, and again after 30 s', async () => {
    let counts = 0
    const figures = create({
      countSessions: () => {
        counts += 1
        return Promise.resolve(countsOf({}))
      },
    })
    await Promise.all([figures.render(), figures.render()])
    await figures.clock.advance(29_999)
    await figures.render()
    expect(counts).toBe(1)
    await figures.clock.advance(1)
    await figures.render()
    expect(counts).toBe(2)
  })

  test('every figure says what it is, in Prometheus’ words', async () => {
    for (const { name, kind, help } of describedIn(await create().render())) {
      expect(name).toMatch(/^(perdure|process|nodejs)_[a-z0-9_]+$/)
      expect(help).toMatch(/^[A-Z01].{20,}[.]$/)
      expect(name.endsWith('_total'), name).toBe(kind === 'counter')
      expect(name).not.toMatch(/_(ms|milliseconds|kb|mb)(_|$)/)
    }
  })

  test('two servers in one process have figures of their own', async () => {
    const [one, other] = [create(), create()]
    one.meter.fenced()
    expect(await one.value('perdure_fenced_writes_total')).toBe(1)
    expect(await other.value('perdure_fenced_writes_total')).toBe(0)
  })
})
