import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { SessionId } from '../../server/ids.js'
import { defineAgent, defineTool, scripted } from '../../server/index.js'
import { startApi, type Api } from './api.js'
import { createMutator, type Mutator } from './mutate.js'
import { ANN_USER } from './people.js'

const look = defineTool({ description: 'Looks.', input: z.object({}), execute: () => 'seen' })
const FRUGAL = defineAgent({
  name: 'frugal',
  instructions: 'Be brief.',
  model: scripted(({ step }) => (step === 0 ? { text: 'Let me look.', calls: [{ name: 'look' }] } : 'Seen.')),
  tools: { look },
  limits: { maxOutputTokensPerSession: 1 },
})

let api: Api
let mutator: Mutator
beforeAll(async () => {
  api = await startApi({ agents: [FRUGAL] })
  mutator = createMutator(api)
})
afterAll(() => api.close())

interface Shown {
  readonly session: { readonly status: string; readonly requests: { readonly nodes: readonly { readonly id: string }[] } }
}
const QUERY = `query ($id: ID!) { session(id: $id) { status turns { nodes { status } } requests { nodes { id kind status toolCallId toolCall { id } prompt options { id } answer { optionIds decision } } } } }`

async function spend(): Promise<{ readonly id: SessionId; readonly shown: Shown; readonly requestId: string | undefined }> {
  const id = await api.world.open('frugal', 'look', ANN_USER)
  await api.world.until(id, (log) => log.some(({ type }) => type === 'TURN_WAITING'))
  const { data } = await api.as<Shown>('ann', QUERY, { id })
  return { id, shown: data, requestId: data.session.requests.nodes[0]?.id }
}

describe('a session over its budget', () => {
  it.each([
    [{ decision: 'APPROVE' }, 'continue', 'COMPLETED'],
    [{ optionIds: ['stop'] }, 'stop', 'CANCELLED'],
  ])('asks whether to go on; %o is to %s', async (value, optionId, status) => {
    const { id, shown, requestId } = await spend()
    const request = {
      kind: 'LIMIT',
      status: 'PENDING',
      toolCallId: null,
      toolCall: null,
      options: [{ id: 'continue' }, { id: 'stop' }],
      answer: null,
    }
    expect(shown.session).toMatchObject({ status: 'WAITING_FOR_INPUT', requests: { nodes: [request] } })
    const answers = [{ requestId, value }]
    expect(await mutator.run('respond', { session: { id }, answers })).toMatchObject({ __typename: 'DeliveryPayload' })
    await api.world.untilRest(id)
    expect((await api.as('ann', QUERY, { id })).data).toMatchObject({
      session: {
        status: 'IDLE',
        turns: { nodes: [{ status }] },
        requests: { nodes: [{ status: 'ANSWERED', answer: { optionIds: [optionId], decision: null } }] },
      },
    })
  })
})
