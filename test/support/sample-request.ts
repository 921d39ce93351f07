/** A valid request with every kind of history item. */
import { createIdSource } from '../../server/ids.js'
import type { ModelRequest } from '../../server/session/model.js'

const WEATHER = {
  name: 'get_weather',
  description: 'The weather in a city.',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

export function sampleRequest(changes: Partial<ModelRequest> = {}): ModelRequest {
  const ids = createIdSource()
  const [zurich, oslo] = [ids.next('call'), ids.next('call')]
  return {
    instructions: 'You are a weather clerk.',
    history: [
      { role: 'user', text: 'What is the weather in Zürich and in Oslo?' },
      {
        role: 'assistant',
        text: 'Let me look.',
        calls: [
          { id: zurich, name: 'get_weather', input: { city: 'Zürich' } },
          { id: oslo, name: 'get_weather', input: { city: 'Oslo' } },
        ],
        interrupted: false,
      },
      { role: 'tool', callId: zurich, name: 'get_weather', text: '21 °C', isError: false },
      { role: 'tool', callId: oslo, name: 'get_weather', text: 'no such city', isError: true },
      { role: 'assistant', text: 'Zürich has', calls: [], interrupted: true },
      { role: 'user', text: 'And now?' },
    ],
    tools: [WEATHER],
    cacheKey: 'ses_sample',
    ...changes,
  }
}
