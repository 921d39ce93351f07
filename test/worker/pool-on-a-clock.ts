/** A pool over a store in memory, on a clock that a test moves. */
import { defineAgent, type AgentOptions } from '../../server/agents/define-agent.js'
import { createRegistry } from '../../server/agents/registry.js'
import { createLocalCoordinator } from '../../server/coordination/local.js'
import { createEventWriter } from '../../server/events/writer.js'
import { createIdSource, type SessionId } from '../../server/ids.js'
import type { Script } from '../../server/models/script.js'
import { scripted } from '../../server/models/scripted.js'
import { NO_METER } from '../../server/session/meter.js'
import type { Hooks } from '../../server/session/hooks.js'
import type { Coordinator, SessionStore } from '../../server/session/ports.js'
import { startWorkerPool, type WorkerPoolOptions } from '../../server/worker/pool.js'
import { createFakeClock } from '../support/fake-clock.js'
import { createMemoryStore } from '../support/memory-store.js'
import { silentLog } from '../support/silent-log.js'
import { ALICE, readLog } from '../support/world.js'

export const LEASE_TTL_MS = 60_000
export const SWEEP_MS = 1000

export interface Setup {
  readonly tools?: AgentOptions['tools']
  readonly hooks?: Hooks
  readonly renewsLeases?: boolean
  readonly script?: Script
  readonly store?: (store: SessionStore) => Partial<SessionStore>
  readonly coordinator?: Partial<Coordinator>
  readonly onTurnEnded?: WorkerPoolOptions['onTurnEnded']
  readonly meter?: WorkerPoolOptions['meter']
}

export function startPool({
  script = () => 'Hi.',
  store: change,
  coordinator: told,
  onTurnEnded = () => undefined,
  meter = NO_METER,
  tools = {},
  hooks = {},
  renewsLeases = false,
}: Setup = {}) {
  const clock = createFakeClock()
  const memory = createMemoryStore(clock)
  const store = { ...memory, ...change?.(memory) }
  const errors: string[] = []
  const log = silentLog({ error: (message) => errors.push(message) })
  const coordinator = { ...createLocalCoordinator({ clock }), ...told }
  const agent = defineAgent({ name: 'support', model: scripted(script, { clock }), instructions: 'You help.', tools, hooks })
  const ids = createIdSource(clock.now)
  const pool = startWorkerPool({
    store,
    coordinator,
    clock,
    ids,
    log,
    meter,
    owner: ids.next('wrk'),
    onTurnEnded,
    writer: createEventWriter({ store, coordinator, clock, ttlMs: LEASE_TTL_MS, log }),
    agents: createRegistry([agent], () => scripted(script, { clock })),
    random: () => 0,
    slots: 2,
    leaseTtlMs: LEASE_TTL_MS,
    renewsLeases,
    sweepIntervalMs: SWEEP_MS,
  })
  const typesIn = async (id: SessionId) => (await readLog(memory, id)).map((event) => event.type)

  /** Durable, and nobody is woken: what a sweep has to find. */
  async function open(text: string, idleTimeoutMs: number | null = null): Promise<SessionId> {
    const id = ids.next('ses')
    const content = { kind: 'MESSAGE', text, policy: 'STEER' } as const
    await memory.createSession({
      id,
      agent: 'support',
      mode: 'CONVERSATION',
      idleTimeoutMs,
      owner: ALICE,
      title: null,
      metadata: {},
      addresses: [],
      deployment: 'test',
      history: [],
      createdAt: clock.now(),
      firstDelivery: { id: ids.next('dlv'), by: ALICE, content, acceptedAt: clock.now() },
      idempotency: null,
    })
    return id
  }
  return { clock, store: memory, coordinator, pool, errors, open, typesIn }
}
