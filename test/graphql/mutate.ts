/** Mutations as tests run them: every field of what they give, whatever it is. */
import { expect } from 'vitest'
import { createIdSource, type SessionId } from '../../server/ids.js'
import { converse, type Api } from './api.js'

export const ANN = 'ann'
export const READER = 'ann;sessions:read'

export type Outcome = Readonly<Record<string, unknown>> & {
  readonly __typename: string
  readonly session?: { readonly id: SessionId; readonly status: string }
}

const PROBLEMS = `... on Problem { code message } ... on NotFoundError { id } ... on InvalidInputError { issues { path message } }
  ... on LimitExceededError { limit retryAfterMs }`
const ENDED = `... on SessionEndedError { session { id status } }`
const TAKEN = `... on AddressTakenError { address holder }`
const HANDED = `... on DeliveryPayload { duplicate session { id } delivery { id kind status position by { id } policy text } }`
const DOCUMENTS = {
  createSession: `mutation ($input: CreateSessionInput!) { createSession(input: $input) { __typename ${PROBLEMS} ${TAKEN}
    ... on CreateSessionPayload { duplicate session { id status title metadata addresses transcript { role text } } } } }`,
  send: `mutation ($input: SendInput!) { send(input: $input) { __typename ${PROBLEMS} ${ENDED} ${TAKEN}
    ... on SendPayload { created duplicate session { id status } delivery { id kind status position policy text by { id } } } } }`,
  respond: `mutation ($input: RespondInput!) { respond(input: $input) { __typename ${PROBLEMS} ${ENDED} ${HANDED}
    ... on RequestNotPendingError { requests { id status answer { decision optionIds text json reason by { id kind } } } } } }`,
  cancel: `mutation ($input: CancelInput!) { cancel(input: $input) { __typename ${PROBLEMS} ${ENDED} ${HANDED} } }`,
  clear: `mutation ($input: ClearInput!) { clear(input: $input) { __typename ${PROBLEMS} ${ENDED} ${HANDED} } }`,
  compact: `mutation ($input: CompactInput!) { compact(input: $input) { __typename ${PROBLEMS} ${ENDED} ${HANDED} } }`,
  end: `mutation ($input: EndInput!) { end(input: $input) { __typename ${PROBLEMS} ${ENDED} ${HANDED} } }`,
  claimAddress: `mutation ($input: AddressInput!) { claimAddress(input: $input) { __typename ${PROBLEMS} ${ENDED} ${TAKEN}
    ... on SessionPayload { session { id addresses } } } }`,
  releaseAddress: `mutation ($input: AddressInput!) { releaseAddress(input: $input) { __typename ${PROBLEMS}
    ... on SessionPayload { session { id addresses } } } }`,
  updateSession: `mutation ($input: UpdateSessionInput!) { updateSession(input: $input) { __typename ${PROBLEMS}
    ... on SessionPayload { session { id title metadata updatedAt } } } }`,
} as const
type Name = keyof typeof DOCUMENTS

export interface Mutator {
  run(name: Name, input: object, caller?: string): Promise<Outcome>
  /** A parked session that nobody drives. */
  create(more?: object, caller?: string): Promise<SessionId>
  /** One that was driven, and has ended. */
  createEnded(): Promise<SessionId>
}

export function createMutator(api: Api): Mutator {
  const ids = createIdSource()

  async function run(name: Name, input: object, caller = ANN): Promise<Outcome> {
    const { data, errors } = await api.as<Record<Name, Outcome>>(caller, DOCUMENTS[name], { input })
    expect(errors).toBeUndefined()
    return data[name]
  }

  return {
    run,
    async create(more = {}, caller = ANN) {
      const outcome = await run('createSession', { session: { agent: 'support', ...more } }, caller)
      if (outcome.session === undefined) throw new Error(JSON.stringify(outcome))
      return outcome.session.id
    },
    async createEnded() {
      const id = await converse(api, ANN, [ids.next('req')])
      await run('end', { session: { id } })
      await api.world.until(id, (log) => log.at(-1)?.type === 'SESSION_COMPLETED')
      return id
    },
  }
}
