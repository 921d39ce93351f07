/** Worlds with one scripted agent, `support`, for a test file; stopped after each test, which must have met no fault. */
import { afterEach, expect } from 'vitest'
import { defineAgent, type AgentOptions } from '../../server/agents/define-agent.js'
import { defineTool } from '../../server/agents/define-tool.js'
import type { Script } from '../../server/models/script.js'
import { scripted } from '../../server/models/scripted.js'
import type { ToolContext } from '../../server/session/agent-port.js'
import { createWorlds, type Worlds } from './worlds.js'

export type WorldsOf = (script: Script, options?: Partial<AgentOptions>) => Worlds

export function useScriptedWorlds(): WorldsOf {
  const open: Worlds[] = []
  afterEach(async () => {
    for (const worlds of open.splice(0)) {
      await worlds.stop()
      expect(worlds.faults).toEqual([])
    }
  })
  return (script, options = {}) => {
    const agent = defineAgent({ name: 'support', model: scripted(script), instructions: 'You help.', ...options })
    const worlds = createWorlds([agent])
    open.push(worlds)
    return worlds
  }
}

/** A tool without arguments that does this once. */
export function toolOf(execute: (context: ToolContext) => unknown) {
  return defineTool({ description: 'Works.', input: { type: 'object' }, execute: (_, context) => execute(context) })
}
