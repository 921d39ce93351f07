/** A shop with four orders, in memory: what a database would be in your app. */
import { z } from 'zod'

export const orderSchema = z.object({
  order: z.string(),
  item: z.string(),
  price: z.number(),
  status: z.enum(['packed', 'on its way', 'delivered', 'refunded']),
  arrives: z.string().nullable(),
})
export type Order = z.infer<typeof orderSchema>

const orders = new Map<string, Order>([
  ['1040', { order: '1040', item: 'a brass desk lamp', price: 89, status: 'delivered', arrives: null }],
  ['1041', { order: '1041', item: 'two linen cushions', price: 48, status: 'packed', arrives: 'on Friday' }],
  ['1042', { order: '1042', item: 'a walnut coffee table', price: 240, status: 'on its way', arrives: 'tomorrow before noon' }],
  ['1043', { order: '1043', item: 'a set of six glasses', price: 36, status: 'on its way', arrives: 'on Thursday' }],
])

export const shelves = [
  { shelf: 'lamps', pieces: 12 },
  { shelf: 'cushions', pieces: 31 },
  { shelf: 'tables', pieces: 4 },
  { shelf: 'glasses', pieces: 0 },
]

/** Throws when there is none: the model reads the message. */
export function findOrder(number: string): Order {
  const order = orders.get(number)
  if (order === undefined) throw new Error(`there is no order ${number}; there are ${[...orders.keys()].join(', ')}`)
  return order
}

export function refundOrder(number: string): Order {
  const order = findOrder(number)
  if (order.status === 'refunded') throw new Error(`order ${number} was refunded before`)
  const refunded = { ...order, status: 'refunded' as const, arrives: null }
  orders.set(number, refunded)
  return refunded
}
