/** The same claims against the real server, over a database of its own (openTestPostgres). */
import { startApi } from '../graphql/api.js'
import { sdkSuite } from './sdk-suite.js'

sdkSuite('the real server', async () => {
  const api = await startApi()
  return { url: api.url, agent: 'hello', headers: { 'x-caller': 'ann' }, close: () => api.close() }
})
