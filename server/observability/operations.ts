/**
 * GET /livez, /readyz and /metrics, for load balancers, schedulers and Prometheus; HEAD works too. Nobody signs in for them, so they tell
 * nothing of what sessions say. A process that only drives sessions answers these and nothing else.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Log } from '../session/ports.js'
import type { Metrics } from './metrics.js'
import { createReadiness, type ReadinessOptions } from './readiness.js'

export interface OperationsOptions extends ReadinessOptions {
  readonly role: 'all' | 'api' | 'worker'
  readonly metrics: Pick<Metrics, 'contentType' | 'render'>
  readonly log: Pick<Log, 'error'>
}
/** True: the request is answered, or will be. */
export type OperationsHandler = (request: IncomingMessage, response: ServerResponse) => boolean

interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

const NOT_HERE = {
  error: 'This process is a worker: it drives sessions and answers /livez, /readyz and /metrics only.',
  mend: 'Send GraphQL to a process with PERDURE_ROLE=api or all.',
}

export function createOperationsHandler(options: OperationsOptions): OperationsHandler {
  const { role, metrics, log } = options
  const readiness = createReadiness(options)
  const answers: ReadonlyMap<string, () => Promise<Answer>> = new Map([
    ['/livez', async () => toJson(200, { status: 'alive' })],
    ['/readyz', async () => toReadyz(await readiness())],
    ['/metrics', async () => ({ status: 200, type: metrics.contentType, body: await metrics.render() })],
  ])

  async function answer(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const respond = answers.get(path)
      if (respond === undefined) send(response, toJson(404, NOT_HERE))
      else send(response, request.method === 'GET' || request.method === 'HEAD' ? await respond() : NOT_ALLOWED)
    } catch (err) {
      log.error('a probe could not be answered', { err, path })
      if (!response.headersSent) send(response, toJson(500, { error: 'It could not be answered; see the process log.' }))
    }
  }

  return (request, response) => {
    const [path = ''] = (request.url ?? '').split('?')
    if (!answers.has(path) && role !== 'worker') return false
    void answer(path, request, response)
    return true
  }
}

const NOT_ALLOWED: Answer = { ...toJson(405, { error: 'Only GET and HEAD.' }), headers: { allow: 'GET, HEAD' } }

function toReadyz({ ready, checks }: Awaited<ReturnType<ReturnType<typeof createReadiness>>>): Answer {
  return toJson(ready ? 200 : 503, { status: ready ? 'ready' : 'unready', checks })
}

function toJson(status: number, value: object): Answer {
  return { status, type: 'application/json; charset=utf-8', body: `${JSON.stringify(value)}\n` }
}

/** Node leaves the body out where HEAD asks. */
function send(response: ServerResponse, { status, type, body, headers }: Answer): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body), 'cache-control': 'no-store', ...headers })
  response.end(body)
}
