/** The executable schema: every type family, named once. */
import type { GraphQLSchema } from 'graphql'
import { builder } from './builder.js'
import './types/queries.js'
import './types/release-address.js'
import './types/create-session.js'
import './types/send.js'
import './types/respond.js'
import './types/cancel.js'
import './types/claim-address.js'
import './types/clear.js'
import './types/compact.js'
import './types/end.js'
import './types/update-session.js'
import './types/subscriptions.js'
import './types/session-events.js'
import './types/turn-events.js'
import './types/step-events.js'
import './types/request-events.js'
import './types/tool-call-events.js'

/** Made anew at each call: building it takes some milliseconds and needs no service. */
export function buildSchema(): GraphQLSchema {
  return builder.toSchema({ sortSchema: false })
}
