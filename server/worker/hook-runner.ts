/**
 * Tells the authors' hooks of what was committed here: each event at most once, after it is durable. A process that dies between the two
 * tells nobody, and the next one does not make up for it.
 */
import type { RecordedEvent } from '../session/events.js'
import type { AgentPort } from '../session/agent-port.js'
import type { Log } from '../session/ports.js'
import type { SessionFacts } from '../session/session.js'

export interface HookRunner {
  /** Calls the hooks of these events in their order, and waits for none. Never throws. */
  tell(agent: AgentPort, facts: SessionFacts, events: readonly RecordedEvent[]): void
  /** Resolves when those that were called have come to their end. */
  settled(): Promise<void>
}

export function createHookRunner(log: Log): HookRunner {
  const running = new Set<Promise<void>>()

  async function call(agent: AgentPort, { id, title, metadata, owner }: SessionFacts, event: RecordedEvent): Promise<void> {
    const ofSession = log.with({ session: id, ...(event.turnId !== null && { turn: event.turnId }) })
    try {
      await agent.notify?.(event, { session: { id, agent: agent.name, title, metadata, owner }, log: ofSession })
    } catch (err) {
      ofSession.error(`a hook of agent "${agent.name}" failed on ${event.type}; the session goes on`, { err })
    }
  }

  return {
    tell(agent, facts, events) {
      if (agent.notify === undefined) return
      for (const event of events) {
        const called = call(agent, facts, event).finally(() => running.delete(called))
        running.add(called)
      }
    },
    async settled() {
      await Promise.all(running)
    },
  }
}
