import { builder } from '../builder.js'
import { readFailure, readObject } from '../column-codec.js'
import { deliveredBy } from '../delivered.js'
import { DeliveryKind, DeliveryStatus, TurnPolicy } from './enums.js'
import { Failure, Principal } from './facts.js'
import { Node } from './node.js'

export const Delivery = builder.prismaObject('Delivery', {
  interfaces: [Node],
  description: 'What somebody handed to a session. Durable and numbered before the mutation returns, and settled once.',
  fields: (t) => ({
    id: t.exposeID('id', { description: '`dlv_…`' }),
    sessionId: t.exposeID('sessionId', { description: 'The session it was handed to.' }),
    position: t.expose('position', { type: 'SafeInt', description: 'Its number in the session, from 1; they take effect in this order.' }),
    kind: t.expose('kind', { type: DeliveryKind, description: 'What was handed over.' }),
    policy: t.expose('policy', { type: TurnPolicy, nullable: true, description: 'Of a message: what it does while a turn is open.' }),
    text: t.string({
      nullable: true,
      description: 'Of a message: what it says.',
      resolve: ({ content }) => {
        const { text } = readObject(content)
        return typeof text === 'string' ? text : null
      },
    }),
    by: t.field({
      type: Principal,
      description: 'Who handed it over.',
      resolve: (delivery, _, { caller }) => deliveredBy(delivery, caller),
    }),
    status: t.expose('status', { type: DeliveryStatus, description: 'What became of it.' }),
    rejection: t.field({
      type: Failure,
      nullable: true,
      description: 'Why it will have no effect.',
      resolve: ({ rejection }) => readFailure(rejection),
    }),
    acceptedAt: t.expose('acceptedAt', { type: 'DateTime', description: 'When it became durable.' }),
    settledAt: t.expose('settledAt', { type: 'DateTime', nullable: true, description: 'When it was applied or rejected.' }),
  }),
})

export const DeliveryConnection = builder.connectionObject(
  { type: Delivery, name: 'DeliveryConnection', description: 'A page of deliveries.' },
  { name: 'DeliveryEdge', description: 'A delivery and its cursor.' },
)
