/**
 * What a session has in flight: exactly what `next` said it owes. An effect stays here with its outcome until it is no longer owed, so an
 * outcome whose commit was refused is simply found again.
 */
import type { Clock } from '../../clock.js'
import { PerdureError } from '../../errors.js'
import type { IdSource } from '../../ids.js'
import { failedResult } from '../settle/calls.js'
import { stepScope } from '../settle/scope.js'
import type { HistoryItem } from '../history.js'
import type { Checkpoint, ModelStep, OpenTurn } from '../checkpoint.js'
import type { CallRow } from '../commit.js'
import { modelKey } from '../next.js'
import type { Effect } from '../owed.js'
import type { Block, Outcome } from '../outcomes.js'
import type { AgentPort, ApprovalContext, ToolContext } from '../agent-port.js'
import type { EventStream, Log } from '../ports.js'
import type { Principal } from '../principal.js'
import type { Session } from '../session.js'
import type { SessionState } from '../state.js'
import { callModel, type ModelCall } from './call-model.js'
import { createJudge, type JudgedCall } from './judge-call.js'
import type { Memos } from './memos.js'
import { runTool } from './run-tool.js'
import { StagedState } from './staged-state.js'

export interface EffectPorts {
  readonly agent: AgentPort
  readonly stream: EventStream
  readonly clock: Clock
  readonly ids: IdSource
  readonly log: Log
  /** Of the session that is driven. */
  readonly memos: Pick<Memos, 'get'>
  /** Whether the tool was allowed to the person for the rest of the session. */
  readonly hasGrant: (session: Session, tool: string, to: Principal) => Promise<boolean>
  /** The history of the session as it is now. */
  readonly loadHistory: (session: Session) => Promise<readonly HistoryItem[]>
  /** Called when an outcome is ready. */
  readonly onOutcome: () => void
}

interface Running {
  readonly abort: AbortController
  readonly model: ModelCall | null
  outcome: Outcome | null
}

export class Effects {
  readonly #ports: EffectPorts
  readonly #running: Map<string, Running> = new Map()
  /** The author's, as it was committed last. */
  #state: SessionState = {}

  constructor(ports: EffectPorts) {
    this.#ports = ports
  }

  /** Starts what is owed and does not run; stops and forgets what runs and is not owed. */
  keep(session: Session, owed: readonly Effect[]): void {
    this.#state = session.state
    const keys = new Set(owed.map((effect) => effect.key))
    for (const [key, running] of this.#running) {
      if (keys.has(key)) continue
      stop(running, 'EFFECT_STOPPED', 'this is not asked for any more')
      this.#running.delete(key)
    }
    for (const effect of owed) {
      const running = this.#running.get(effect.key) ?? this.#start(session, effect)
      if (effect.kind === 'run-tool' && effect.aborted) stop(running, 'CANCELLED', 'the call is cancelled')
    }
  }

  /** Outcomes that are ready. */
  outcomes(): readonly Outcome[] {
    return [...this.#running.values()].flatMap(({ outcome }) => (outcome === null ? [] : [outcome]))
  }

  /** Whether the call of the model that is in flight has shown something of its answer. */
  isSpeaking({ phase }: Checkpoint): boolean {
    return phase.kind === 'modelling' && (this.#running.get(modelKey(phase.step))?.model?.isSpeaking() ?? false)
  }

  /** Stops the step's call of the model and answers what it had said; the same again when asked again. */
  interruptModel(step: ModelStep): readonly Block[] {
    const running = this.#running.get(modelKey(step))
    if (running === undefined) return []
    stop(running, 'EFFECT_STOPPED', 'the call of the model is not asked for any more')
    return running.model?.said() ?? []
  }

  /** Stops the tools whose calls are about to be settled without their answer: nothing of them is shown after that. */
  dismiss(settled: readonly CallRow[]): void {
    for (const { id, result } of settled) {
      const running = this.#running.get(id)
      if (result !== null && running !== undefined) stop(running, 'CANCELLED', 'the call is not waited for')
    }
  }

  stopAll(): void {
    for (const running of this.#running.values()) stop(running, 'SESSION_LEFT', 'this process does not drive the session any more')
    this.#running.clear()
  }

  #start(session: Session, effect: Effect): Running {
    const abort = new AbortController()
    if (effect.kind === 'call-model') {
      const { agent, stream, clock, ids, loadHistory } = this.#ports
      const history = loadHistory(session)
      const { turn, step } = effect
      const { signal } = abort
      const judge = createJudge((tool, call) => this.#approvalContext(session, turn, { tool: tool.name, ...call, signal }))
      const model = callModel({ agent, turn, step, cacheKey: session.facts.id, history, judge, stream, ids, clock, signal })
      return this.#watch(effect.key, { abort, model, outcome: null }, model.ended)
    }
    return this.#watch(effect.key, { abort, model: null, outcome: null }, this.#runTool(session, effect, abort.signal))
  }

  #watch(key: string, running: Running, ended: Promise<Outcome>): Running {
    this.#running.set(key, running)
    void ended.then((outcome) => {
      running.outcome = outcome
      if (this.#running.get(key) === running) this.#ports.onOutcome()
    })
    return running
  }

  async #runTool(session: Session, effect: Extract<Effect, { kind: 'run-tool' }>, signal: AbortSignal): Promise<Outcome> {
    const { agent, stream, clock } = this.#ports
    const row = session.calls.get(effect.callId)
    const tool = agent.tools.get(row?.name ?? '')
    if (row === undefined || tool === undefined) {
      const message = `the agent ${agent.name} has no tool ${row?.name ?? effect.callId} any more`
      const result = failedResult({ code: 'TOOL_UNKNOWN', message, retryable: false }, clock.now())
      return { kind: 'tool-ended', callId: effect.callId, status: 'FAILED', result }
    }
    const { turn, step } = effect
    const scope = stepScope(turn, step)
    const staged = new StagedState(() => this.#state)
    const ended = await runTool({
      tool,
      call: row,
      clock,
      context: { ...this.#context(session, effect, signal), state: staged },
      progress: (output) => {
        if (signal.aborted) return
        stream.emit({ type: 'TOOL_CALL_PROGRESS', data: { callId: row.id, output }, at: clock.now(), ...scope })
      },
    })
    const { changes } = staged
    return changes === null || ended.status !== 'COMPLETED' ? ended : { ...ended, state: changes }
  }

  #approvalContext(session: Session, turn: OpenTurn, call: JudgedCall & Pick<ApprovalContext, 'tool' | 'signal'>): ApprovalContext {
    const { id: callId, tool, input, signal } = call
    const { principal } = turn
    return {
      ...{ session: toShown(session), turn: { id: turn.id, number: turn.number }, principal, callId, tool, input, signal },
      log: this.#ports.log.with({ turn: turn.id, call: callId }),
      isGranted: () => this.#ports.hasGrant(session, tool, principal),
    }
  }

  #context(session: Session, { turn, callId }: Extract<Effect, { kind: 'run-tool' }>, signal: AbortSignal): Omit<ToolContext, 'state'> {
    return {
      session: toShown(session),
      turn: { id: turn.id, number: turn.number },
      callId,
      signal,
      principal: turn.principal,
      log: this.#ports.log.with({ turn: turn.id, call: callId }),
      memo: (key, compute) => this.#ports.memos.get(key, compute),
    }
  }
}

function toShown({ facts: { id, agent, title, metadata, owner } }: Session): ToolContext['session'] {
  return { id, agent, title, metadata, owner }
}

/** One that has ended has nothing left to stop. */
function stop({ abort, outcome }: Running, code: string, message: string): void {
  if (outcome === null && !abort.signal.aborted) abort.abort(new PerdureError(code, message))
}
