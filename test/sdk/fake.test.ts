import { startFakeServer } from './fake-server.js'
import { sdkSuite } from './sdk-suite.js'

sdkSuite('a server of its own', async () => {
  const server = await startFakeServer()
  return { url: server.url, agent: 'echo', close: () => server.close() }
})
