/** One client at a time: the variants take turns, so that their ratios hold on a machine that others use too. */
import { createBareCommit } from './bare-commit.js'
import type { Bench } from './bench.js'
import { createInProcess, createOverHttp, toFirstEvent } from './first-event.js'
import type { Figures } from './results.js'
import type { RowName } from './rows.js'
import { alternate, toRatio, toTiming, type Series } from './series.js'
import { createBareStatements, createToolStep } from './tool-step.js'

/** One kind of measurement beside the bare commits: what is sampled, and what becomes of it. */
interface Part {
  readonly series: readonly Series[]
  toFigures(bare: Series): Partial<Figures>
  close(): void
}

export async function measureAlone(bench: Bench, rows: ReadonlySet<RowName>): Promise<Partial<Figures>> {
  const bare = await createBareCommit(bench)
  const parts: Part[] = []
  if (rows.has('tool-step')) parts.push(await openToolStep(bench))
  if (rows.has('first-event')) parts.push(await openFirstEvent(bench))
  await alternate([bare, ...parts.flatMap(({ series }) => series)], bench.sizes.rounds, bench.signal)
  for (const part of parts) part.close()
  return parts.reduce<Partial<Figures>>((figures, part) => ({ ...figures, ...part.toFigures(bare) }), { bareCommit: toTiming(bare) })
}

async function openToolStep(bench: Bench): Promise<Part> {
  const step = createToolStep(bench)
  const statements = await createBareStatements(bench)
  return {
    series: [statements, step],
    toFigures: (bare) => ({
      toolStep: {
        perStep: toTiming(step),
        statements: toTiming(statements),
        toBare: toRatio(step, bare),
        toStatements: toRatio(step, statements),
      },
    }),
    close: () => undefined,
  }
}

async function openFirstEvent(bench: Bench): Promise<Part> {
  const inProcess = await createInProcess(bench)
  const http = await createOverHttp(bench)
  return {
    series: [inProcess.sinceSent, http.sinceSent],
    toFigures: (bare) => ({ firstEvent: { inProcess: toFirstEvent(inProcess, bare), http: toFirstEvent(http, bare) } }),
    close() {
      inProcess.close()
      http.close()
    },
  }
}
