import { defineTool } from 'eve/tools'
import { z } from 'zod'

export default defineTool({
  description: 'Echoes the text.',
  inputSchema: z.object({ text: z.string() }),
  execute: async ({ text }) => ({ text }),
})
