/** A client that does not wait before it tries again. */
import { createClientOn, type Client, type ClientOptions } from '../../sdk/client.js'
import { createRuntime, type Runtime } from '../../sdk/runtime.js'

export interface Waits {
  /** What it would have waited, milliseconds. */
  readonly waitedMs: number[]
}

export function fastClient(url: string, options: Partial<ClientOptions> = {}, waits: Waits = { waitedMs: [] }): Client {
  const real = createRuntime(options.fetch)
  const runtime: Runtime = {
    ...real,
    random: () => 0.5,
    wait: (ms, signal) => {
      waits.waitedMs.push(ms)
      return real.wait(0, signal)
    },
  }
  return createClientOn({ ...options, url }, runtime)
}
