/**
 * The API in this process, over a database of its own. `hello` is driven and uses a tool when it is asked for the time; `support` is
 * known and never driven, so that its deliveries stay as they were accepted.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'
import { createRegistry } from '../../server/agents/registry.js'
import { systemClock, type Clock } from '../../server/clock.js'
import { createFeed } from '../../server/events/feed.js'
import { SCOPES, type Authenticate, type GraphqlServices, type Scope } from '../../server/graphql/context.js'
import { createGraphqlHandler } from '../../server/graphql/http.js'
import { createIdSource } from '../../server/ids.js'
import { defineAgent, defineTool, scripted, type Agent } from '../../server/index.js'
import { openTestPostgres } from '../support/databases.js'
import { startWorld } from '../support/world.js'

const clockTool = defineTool({ description: 'Tells the time.', input: z.object({}), execute: () => ({ hour: 12 }) })

export const HELLO = defineAgent({
  name: 'hello',
  description: 'Greets people.',
  model: scripted(({ lastUserText, step }) => {
    if (lastUserText === 'time' && step === 0) return { text: 'Let me look.', calls: [{ name: 'clock' }, { name: 'clock' }] }
    if (lastUserText === 'hang') return { text: 'One moment', hang: true }
    return `Hello, ${lastUserText}!`
  }),
  instructions: 'You greet people.',
  tools: { clock: clockTool },
})
const SUPPORT = defineAgent({ name: 'support', model: scripted(), instructions: 'You help people.' })

export interface Answer {
  readonly status: number
  // What a test reads is whatever it asked for.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data: any
  readonly errors?: readonly {
    readonly message: string
    readonly path?: readonly unknown[]
    readonly extensions: Record<string, unknown>
  }[]
}
