/** Many subscribers in a process of their own, as seen from the one that serves them. */
import { z } from 'zod'
import { startChild } from './child.js'

export interface AudienceOrder {
  readonly url: string
  /** One request a session: the bodies of POSTs. */
  readonly bodies: readonly string[]
  /** Of each session. */
  readonly subscribers: number
  /** Text that shows that a subscription is live. */
  readonly live: string
  /** Text that is in every event that counts, once. */
  readonly mark: string
}
export const AudienceReport = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('live') }),
  /** Every subscriber has got so many marks, and all together so many bytes; `sample` is what one got since the last report. */
  z.object({ kind: z.literal('heard'), marks: z.number(), bytes: z.number(), sample: z.string() }),
])
export type AudienceReport = z.infer<typeof AudienceReport>
export type Heard = Extract<AudienceReport, { kind: 'heard' }>

export interface Audience {
  /** Resolves once every subscriber has got so many marks. */
  heard(marks: number): Promise<Heard>
  close(): Promise<void>
}

interface Waiting {
  readonly marks: number
  resolve(heard: Heard): void
  reject(reason: Error): void
}

/** Resolves once all subscriptions are live. */
export function openAudience(order: AudienceOrder): Promise<Audience> {
  const waiting = new Set<Waiting>()
  let last: Heard = { kind: 'heard', marks: 0, bytes: 0, sample: '' }
  return new Promise((resolve, reject) => {
    const child = startChild<AudienceOrder, AudienceReport>({
      file: './audience-process.ts',
      reports: AudienceReport,
      onReport: (report) => {
        if (report.kind === 'live') resolve(audience)
        else hear(report)
      },
      onLost: (reason) => {
        reject(reason)
        for (const one of waiting) one.reject(reason)
      },
    })
    const audience: Audience = { heard, close: () => child.stop() }
    child.send(order)
  })

  function hear(report: Heard): void {
    last = report
    for (const one of waiting) {
      if (one.marks > report.marks) continue
      waiting.delete(one)
      one.resolve(report)
    }
  }

  function heard(marks: number): Promise<Heard> {
    if (last.marks >= marks) return Promise.resolve(last)
    return new Promise((resolve, reject) => waiting.add({ marks, resolve, reject }))
  }
}
