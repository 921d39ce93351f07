/** A turn on the fake server whose log the test writes. */
import type { Client } from '../../sdk/client.js'
import type { Session } from '../../sdk/session.js'
import type { TurnHandle } from '../../sdk/turn.js'
import { brand, USER, type FakeSession } from './fake-log.js'
import type { FakeRequest, FakeRequests } from './fake-requests.js'
import type { FakeServer } from './fake-server.js'

const TURN = { turnId: 'turn_1' }
const STEP = { ...TURN, stepIndex: 0, attempt: 1 }
const USAGE = { promptTokens: 1, completionTokens: 1, cacheTokens: null, reasoningTokens: null, costUsd: null, incomplete: false }
const END = { output: 'done', error: null, reason: null, usage: USAGE, latencyMs: 1 }

export interface GivenTurn {
  readonly turn: TurnHandle<Session>
  /** Of the other messages that it took. */
  readonly others: readonly TurnHandle<Session>[]
  readonly session: FakeSession
  /** Opens a request. Default: an approval. */
  ask(asked?: Parameters<FakeRequests['ask']>[2]): FakeRequest
  say(text: string): void
  /** A call beside what is asked begins. */
  startCall(): void
  wait(on?: 'APPROVAL' | 'INPUT' | 'TIMER'): void
  goOn(): void
  end(): void
  /** A delivery was applied to it. */
  settle(delivery: string): void
}

/** It runs. The texts are the keys of its messages. */
export async function openTurn(
  { log, requests }: FakeServer,
  client: Client,
  texts: readonly string[] = ['refund me'],
): Promise<GivenTurn> {
  const { id } = await client.sessions.create({ agent: 'quiet' })
  const turns = texts.map((text) => client.session(id).send(text, { idempotencyKey: text }))
  const session = log.find(id)
  const settle = (delivery: string): void => {
    for (const each of session.deliveries) if (each.id === delivery) each.status = 'APPLIED'
    log.append(session, 'DELIVERY_SETTLED', { delivery: brand(delivery), status: 'APPLIED', turn: brand('turn_1'), reason: null }, TURN)
  }
  const deliveries: string[] = []
  for (const turn of turns) deliveries.push((await turn.accepted).delivery.id)
  const started = { number: 1, deliveries: deliveries.map((one) => brand<never>(one)), trigger: 'MESSAGE', principal: USER } as const
  log.append(session, 'TURN_STARTED', started, TURN)
  for (const delivery of deliveries) settle(delivery)
  const [turn, ...others] = turns
  if (turn === undefined) throw new Error('nothing was sent')
  return {
    ...{ turn, others, session, settle },
    ask: (asked) => requests.ask(session, 'turn_1', asked),
    say: (text) =>
      log.append(session, 'MESSAGE_COMPLETED', { blockId: brand('blk_1'), text, finishReason: 'TOOL_CALLS', interrupted: false }, STEP),
    startCall: () => log.append(session, 'TOOL_CALL_START', { callId: brand('call_other'), name: 'look' }, STEP),
    wait: (on = 'APPROVAL') => log.append(session, 'TURN_WAITING', { on }, TURN),
    goOn: () => log.append(session, 'TURN_RESUMED', { cause: 'ANSWERED' }, TURN),
    end: () => log.append(session, 'TURN_COMPLETED', END, TURN),
  }
}
