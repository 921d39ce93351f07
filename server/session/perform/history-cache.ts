/** The history of a session while it is driven: read once, then kept in step with what is committed. */
import { findInvalid, repairHistory, type HistoryItem } from '../history.js'
import type { SessionStore } from '../ports.js'
import type { Session } from '../session.js'
import type { Commit } from '../commit.js'

export class HistoryCache {
  readonly #store: Pick<SessionStore, 'loadHistory'>
  #epoch = 0
  #items: HistoryItem[] | null = null
  /** Everything before it was found valid and complete. */
  #validTo = 0

  constructor(store: Pick<SessionStore, 'loadHistory'>) {
    this.#store = store
  }

  /** The history up to the session's checkpoint, valid (H1). The answer is the caller's own. */
  async load({ facts, checkpoint }: Session): Promise<readonly HistoryItem[]> {
    const { historyEpoch: epoch, historyLength: length } = checkpoint
    if (this.#items === null || this.#epoch !== epoch || this.#items.length !== length) {
      this.#items = length === 0 ? [] : [...(await this.#store.loadHistory(facts.id, epoch))]
      this.#epoch = epoch
      this.#validTo = 0
    }
    if (findInvalid(this.#items, this.#validTo) !== null) return repairHistory(this.#items)
    this.#validTo = this.#items.length
    return this.#items.slice()
  }

  /** Takes over what a commit appended, when what came before is here already. */
  append({ checkpoint, history }: Commit): void {
    const isWhole = history.length === checkpoint.historyLength
    if (isWhole) this.#epoch = checkpoint.historyEpoch
    const items = isWhole ? (this.#items = []) : this.#items
    if (items === null || this.#epoch !== checkpoint.historyEpoch || items.length + history.length !== checkpoint.historyLength) return
    items.push(...history)
  }
}
