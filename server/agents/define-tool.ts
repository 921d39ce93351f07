import { compileTool } from './compile-tool.js'
import type { JsonObject } from '../session/perform/to-json.js'
import { toTool, type Tool, type ToolOptions } from './tool.js'

/**
 * Defines a tool. What is wrong with it is said by the `defineAgent` that uses it, which knows its name.
 *
 * ```ts
 * const lookUpOrder = defineTool({
 *   description: 'Finds an order by its number.',
 *   input: z.object({ order: z.string() }),
 *   idempotent: true,
 *   execute: async ({ order }) => orders.find(order),
 * })
 * ```
 */
export function defineTool<Input = JsonObject, Result = unknown, Output = Result>(
  options: ToolOptions<Input, Result, Output>,
): Tool<Input, Output> {
  return toTool<Input, Output>((owner) => compileTool(owner, options))
}
