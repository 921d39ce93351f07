/** The history of a session while it is driven: read once at most, then kept in step with what is committed. */
import { isEndedPhase } from '../checkpoint.js'
import { findInvalid, repairHistory, type HistoryItem } from '../history.js'
import type { SessionStore } from '../ports.js'
import type { Session } from '../session.js'
import type { Commit } from '../commit.js'
import type { LoadedHistory, RecentHistories } from './recent-histories.js'

export interface HistoryPorts {
  readonly store: Pick<SessionStore, 'loadHistory'>
  /** Missing: nothing is kept from one turn to the next. */
  readonly histories?: RecentHistories
}

export class HistoryCache {
  readonly #ports: HistoryPorts
  #loaded: LoadedHistory | null

  constructor(ports: HistoryPorts, claimed: Session) {
    this.#ports = ports
    this.#loaded = ports.histories?.take(claimed) ?? null
  }

  /** The history up to the session's checkpoint, valid (H1). The answer is the caller's own. */
  async load(session: Session): Promise<readonly HistoryItem[]> {
    const loaded = isOf(session, this.#loaded) ? this.#loaded : (this.#loaded = await this.#read(session))
    if (findInvalid(loaded.items, loaded.validTo) !== null) return repairHistory(loaded.items)
    loaded.validTo = loaded.items.length
    return loaded.items.slice()
  }

  /** Takes over what a commit appended, when what came before is here already; keeps it for the next turn when the session rests now. */
  follow(after: Session, { checkpoint, history, historyFrom: { epoch, position }, newEpoch, park }: Commit): void {
    if (newEpoch !== null) this.#loaded = toLoaded(newEpoch.epoch, [])
    else if (position === 0 && history.length > 0) this.#loaded = toLoaded(epoch, [])
    const loaded = this.#loaded
    if (loaded?.epoch === epoch && loaded.items.length === position) loaded.items.push(...history)
    if (park !== null && !isEndedPhase(checkpoint) && isOf(after, loaded)) this.#ports.histories?.put(after, loaded)
  }

  async #read({ facts, checkpoint }: Session): Promise<LoadedHistory> {
    const { historyEpoch, historyLength } = checkpoint
    const items = historyLength === 0 ? [] : await this.#ports.store.loadHistory(facts.id, historyEpoch)
    return toLoaded(historyEpoch, [...items])
  }
}

function isOf({ checkpoint }: Session, loaded: LoadedHistory | null): loaded is LoadedHistory {
  return loaded !== null && loaded.epoch === checkpoint.historyEpoch && loaded.items.length === checkpoint.historyLength
}

function toLoaded(epoch: number, items: HistoryItem[]): LoadedHistory {
  return { epoch, items, validTo: 0, bytes: 0, measured: 0 }
}
