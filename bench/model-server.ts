/** A server for models as a process of its own: the protocol of Chat Completions, and an answer at once unless it is to be held. */
import { z } from 'zod'
import { startChild } from './child.js'

/** Messages that it understands; to any other it says a sentence. */
export const ASK = {
  /** Calls of the tool `echo`, one a step. */
  steps: (count: number) => `steps ${count}`,
  /** The first answer never comes; to whoever asks again it says a sentence. */
  hold: (id: string) => `hold ${id}`,
  /** One call of the tool `charge`, then a sentence. The tool's first run never ends. */
  charge: (id: string) => `charge ${id}`,
} as const
export const SENTENCE = 'It is noon, and all is well.'

export const ModelReport = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('listening'), url: z.string() }),
  /** An answer, or the run of a tool, is being held; `pid` is whose, null when it does not say. */
  z.object({ kind: z.literal('held'), id: z.string(), pid: z.number().nullable() }),
  /** The tool `charge` began. */
  z.object({ kind: z.literal('charged'), id: z.string() }),
])
export type ModelReport = z.infer<typeof ModelReport>
type Held = Extract<ModelReport, { kind: 'held' }>

export interface ModelServer {
  /** Without a slash at its end; the model is at /v1. */
  readonly url: string
  /** Resolves once the answer of this id is held. */
  held(id: string): Promise<Held>
  /** How often the tool `charge` began for this id. */
  charges(id: string): number
  close(): Promise<void>
}

export function startModelServer(): Promise<ModelServer> {
  const held = new Map<string, Held>()
  const waiting = new Map<string, (held: Held) => void>()
  const charges = new Map<string, number>()
  return new Promise((resolve, reject) => {
    const child = startChild<never, ModelReport>({
      file: './model-server-process.ts',
      reports: ModelReport,
      onReport: (report) => {
        if (report.kind === 'listening') resolve(toServer(report.url, () => child.stop()))
        else if (report.kind === 'charged') charges.set(report.id, (charges.get(report.id) ?? 0) + 1)
        else {
          held.set(report.id, report)
          waiting.get(report.id)?.(report)
        }
      },
      onLost: reject,
    })
  })

  function toServer(url: string, close: () => Promise<void>): ModelServer {
    return {
      url,
      close,
      charges: (id) => charges.get(id) ?? 0,
      held: async (id) => held.get(id) ?? new Promise((resolve) => waiting.set(id, resolve)),
    }
  }
}
