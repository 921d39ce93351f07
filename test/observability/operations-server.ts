/** The probes of a process, served over HTTP as a process serves them: in front of something else. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createOperationsHandler, type OperationsOptions } from '../../server/observability/operations.js'
import { createFakeClock } from '../support/fake-clock.js'
import { silentLog } from '../support/silent-log.js'

export interface OperationsServer {
  request(path: string, init?: RequestInit): Promise<{ readonly status: number; readonly headers: Headers; readonly text: string }>
  ready(): Promise<{ readonly status: number; readonly body: unknown }>
  close(): Promise<void>
}

/** Whatever the handler leaves is answered with 418. */
export async function serveOperations(more: Partial<OperationsOptions> = {}): Promise<OperationsServer> {
  const handle = createOperationsHandler({
    role: 'all',
    clock: createFakeClock(),
    log: silentLog(),
    metrics: { contentType: 'text/plain; version=0.0.4', render: () => Promise.resolve('up 1\n') },
    isStopping: () => false,
    pingDatabase: () => Promise.resolve({ standby: false }),
    coordination: () => ({ kind: 'local', fault: null }),
    polls: null,
    ...more,
  })
  const server = createServer((request, response) => {
    if (!handle(request, response)) response.writeHead(418).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const request: OperationsServer['request'] = async (path, init) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, init)
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  return {
    request,
    ready: async () => {
      const { status, text } = await request('/readyz')
      return { status, body: JSON.parse(text) }
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
