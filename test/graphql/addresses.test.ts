import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createIdSource } from '../../server/ids.js'
import { startApi, type Api } from './api.js'
import { createMutator, READER, type Mutator } from './mutate.js'

let api: Api
let mutator: Mutator
const ids = createIdSource()

beforeAll(async () => {
  api = await startApi()
  mutator = createMutator(api)
})
afterAll(() => api.close())

const run: Mutator['run'] = (...args) => mutator.run(...args)
const create: Mutator['create'] = (...args) => mutator.create(...args)

describe('claimAddress', () => {
  it('lets whatever is sent to the address reach the session; repeating it changes nothing', async () => {
    const id = await create()
    const claimed = { __typename: 'SessionPayload', session: { id, addresses: ['slack:C1'] } }
    expect(await run('claimAddress', { session: id, address: 'slack:C1' })).toEqual(claimed)
    expect(await run('claimAddress', { session: id, address: 'slack:C1' })).toEqual(claimed)
    const sent = await run('send', { to: { address: { address: 'slack:C1', create: { agent: 'support' } } }, message: { text: 'hi' } })
    expect(sent).toMatchObject({ created: false, session: { id } })
  })

  it('of an address that another session holds names the holder to whoever may see it', async () => {
    const [holder, id] = [await create({ addresses: ['slack:C2'] }), await create({}, 'ben')]
    const taken = { __typename: 'AddressTakenError', code: 'ADDRESS_TAKEN', address: 'slack:C2' }
    expect(await run('claimAddress', { session: id, address: 'slack:C2' }, 'ben;sessions:read,sessions:write')).toMatchObject({
      ...taken,
      holder: null,
    })
    expect(await run('claimAddress', { session: await create(), address: 'slack:C2' })).toMatchObject({ ...taken, holder })
  })

  it('of the 257th is refused', async () => {
    const addresses = Array.from({ length: 256 }, (_, index) => `room:${index}`)
    const id = await create({ addresses })
    expect(await run('claimAddress', { session: id, address: 'room:256' })).toMatchObject({
      __typename: 'LimitExceededError',
      limit: 'addresses: 256',
    })
    expect(await run('claimAddress', { session: id, address: 'room:7' })).toMatchObject({ __typename: 'SessionPayload' })
  })

  it('reaches every other member of its result', async () => {
    const id = await create()
    expect(await run('claimAddress', { session: ids.next('ses'), address: 'slack:C3' })).toMatchObject({ __typename: 'NotFoundError' })
    expect(await run('claimAddress', { session: id, address: 'slack:C3' }, READER)).toMatchObject({ __typename: 'ForbiddenError' })
    expect(await run('claimAddress', { session: id, address: 'nonsense' })).toMatchObject({ __typename: 'InvalidInputError' })
    const ended = await mutator.createEnded()
    expect(await run('claimAddress', { session: ended, address: 'slack:C3' })).toMatchObject({ __typename: 'SessionEndedError' })
  })
})

describe('releaseAddress', () => {
  it('frees the address for others; repeating it changes nothing', async () => {
    const id = await create({ addresses: ['slack:C4', 'slack:C5'] })
    const released = { __typename: 'SessionPayload', session: { id, addresses: ['slack:C5'] } }
    expect(await run('releaseAddress', { session: id, address: 'slack:C4' })).toEqual(released)
    expect(await run('releaseAddress', { session: id, address: 'slack:C4' })).toEqual(released)
    expect(await run('claimAddress', { session: await create(), address: 'slack:C4' })).toMatchObject({ __typename: 'SessionPayload' })
    expect(await run('releaseAddress', { session: id, address: 'slack:C4' })).toEqual(released)
  })

  it('reaches every other member of its result', async () => {
    const id = await create()
    expect(await run('releaseAddress', { session: ids.next('ses'), address: 'slack:C6' })).toMatchObject({ __typename: 'NotFoundError' })
    expect(await run('releaseAddress', { session: id, address: 'slack:C6' }, READER)).toMatchObject({ __typename: 'ForbiddenError' })
    expect(await run('releaseAddress', { session: id, address: 'nonsense' })).toMatchObject({ __typename: 'InvalidInputError' })
  })
})
