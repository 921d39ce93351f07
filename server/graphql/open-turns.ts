/** What only the checkpoint knows of a turn while it is open: how long something of it ran, and what it used so far. */
import type { Clock } from '../clock.js'
import type { PrismaClient, Turn } from '../generated/prisma/client.js'
import { CHECKPOINT_VERSION, openTurnOf } from '../session/checkpoint.js'
import { decodeCheckpoint } from '../session/decode-checkpoint.js'
import type { TokenUsage } from '../session/usage.js'
import { createBatch } from './batch.js'

export interface OpenTurns {
  /** Null when the turn has ended: its row has it all. */
  load(turn: Turn): Promise<{ readonly usage: TokenUsage; readonly activeMs: number } | null>
}

export function createOpenTurns(prisma: PrismaClient, clock: Clock): OpenTurns {
  const bySession = createBatch(async (sessionIds: readonly string[]) => {
    // A checkpoint of a newer release is not ours to read.
    const rows = await prisma.checkpoint.findMany({
      where: { sessionId: { in: [...new Set(sessionIds)] }, version: { lte: CHECKPOINT_VERSION } },
      select: { sessionId: true, version: true, body: true },
    })
    const open = new Map(rows.map((row) => [row.sessionId, openTurnOf(decodeCheckpoint(row.version, row.body))]))
    return sessionIds.map((id) => open.get(id) ?? null)
  })
  return {
    async load(turn) {
      if (turn.endedAt !== null) return null
      const open = await bySession.load(turn.sessionId)
      if (open === null || open.id !== turn.id) return null
      const running = open.activeSince === null ? 0 : Math.max(clock.now() - open.activeSince, 0)
      return { usage: open.usage, activeMs: open.activeMs + running }
    },
  }
}
