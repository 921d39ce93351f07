/** What `support` says without a real model: enough to see streaming, tools, progress and parallel calls. */
import type { Conversation, ScriptedReply } from 'perdure'
import { z } from 'zod'
import { orderSchema, type Order } from './shop.js'
import { story } from './story.js'

const GREETING =
  'Hello, this is the furniture shop. I can find an order ("Where is order 1042?"), several at once ("Where are 1041 and 1043?"), ' +
  'refund one ("Refund order 1042"), count the shelves ("Check the warehouse"), or tell you a long story.'

export function answer({ lastUserText, step, toolResults }: Conversation): ScriptedReply {
  if (step > 0) return toolResults.map(tell).join('\n')
  const text = lastUserText.toLowerCase()
  const numbers = [...new Set([...text.matchAll(/\b\d{4}\b/g)].map(([number]) => number))]
  const isRefund = /refund|money back/.test(text)
  if (numbers.length > 0) return isRefund ? call('refund', numbers) : call('lookup_order', numbers)
  if (isRefund) return 'Gladly. Which order is it? The number has four digits, e.g. 1042.'
  if (/warehouse|shel(f|ves)|stock/.test(text)) {
    return { text: 'I will walk along the shelves, that takes a moment.', calls: [{ name: 'check_warehouse' }] }
  }
  if (/story/.test(text)) return { text: story, delayMs: 30 }
  if (/order/.test(text)) return 'Which order is it? Try 1040, 1041, 1042 or 1043.'
  return GREETING
}

/** One call for each number; several run side by side. */
function call(name: string, numbers: readonly string[]): ScriptedReply {
  const what = numbers.length === 1 ? `order ${numbers[0] ?? ''}` : `orders ${numbers.join(', ')}`
  const text = name === 'refund' ? `I will refund ${what}.` : `Let me look up ${what}.`
  return { text, calls: numbers.map((order) => ({ name, input: { order } })) }
}

function tell({ name, text, isError }: Conversation['toolResults'][number]): string {
  if (isError) return `That did not work: ${text}.`
  if (name === 'check_warehouse') return tellShelves(text)
  const order = orderSchema.parse(JSON.parse(text))
  return name === 'refund' ? `Order ${order.order} is refunded: ${String(order.price)} € are on their way back to you.` : tellOrder(order)
}

function tellOrder({ order, item, status, arrives }: Order): string {
  return `Order ${order} (${item}) is ${status}${arrives === null ? '' : `, and arrives ${arrives}`}.`
}

function tellShelves(text: string): string {
  const shelves = z.array(z.object({ shelf: z.string(), pieces: z.number() })).parse(JSON.parse(text))
  return `I counted: ${shelves.map(({ shelf, pieces }) => `${pieces === 0 ? 'no' : String(pieces)} ${shelf}`).join(', ')}.`
}
