import { setTimeout as sleep } from 'node:timers/promises'
import { defineAgent, defineTool } from 'perdure'
import { z } from 'zod'
import { modelOr } from './model.js'
import { findOrder, orderSchema, refundOrder, shelves } from './shop.js'
import { answer } from './support-script.js'

const orderNumber = z.object({
  order: z
    .string()
    .regex(/^\d{4}$/)
    .describe('four digits, e.g. 1042'),
})

/** Reads only, so it may run again after a crash. */
const lookup_order = defineTool({
  description: 'Finds an order by its number: what was bought, where it is, when it arrives.',
  input: orderNumber,
  output: orderSchema,
  idempotent: true,
  label: ({ order }) => `Looking up order ${order}`,
  execute: ({ order }) => findOrder(order),
})

/** Moves money: somebody is asked first, and a run that a crash cut short is never repeated. The model is told, and can ask. */
const refund = defineTool({
  description: 'Refunds an order in full. Cannot be undone.',
  input: orderNumber,
  output: orderSchema,
  approval: ({ input }) => ({ ask: { prompt: `Refund order ${input.order} in full?` } }),
  label: ({ order }) => `Refunding order ${order}`,
  execute: ({ order }) => refundOrder(order),
})

/** Slow, shows how far it is, stops when it is cancelled. */
const check_warehouse = defineTool({
  description: 'Counts what is on the shelves of the warehouse. Takes some eight seconds.',
  input: z.object({}),
  output: z.array(z.object({ shelf: z.string(), pieces: z.number() })),
  idempotent: true,
  timeoutMs: 60_000,
  label: 'Counting the shelves',
  async *execute(_, { signal }) {
    for (const [index, { shelf }] of shelves.entries()) {
      yield { shelf, done: index, of: shelves.length }
      await sleep(2_000, undefined, { signal })
    }
    return shelves
  },
})

export const support = defineAgent({
  name: 'support',
  description: 'Answers for a furniture shop: finds orders, refunds them, counts the warehouse.',
  model: modelOr(answer),
  instructions: 'You work for a furniture shop. Look orders up before you speak of them. Refund only when asked. Be brief and kind.',
  tools: { lookup_order, refund, check_warehouse },
})
