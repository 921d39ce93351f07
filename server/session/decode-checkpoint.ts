/** From a stored checkpoint to the one that this code works with. */
import { PerdureError } from '../errors.js'
import { CHECKPOINT_VERSION, type Checkpoint } from './checkpoint.js'
import { NO_USAGE } from './usage.js'

/**
 * Reads a stored checkpoint. A newer version than this code knows is refused with SESSION_STRANDED: nothing is lost, a newer
 * deployment takes the session.
 */
export function decodeCheckpoint(version: number, body: unknown): Checkpoint {
  if (version > CHECKPOINT_VERSION) {
    throw new PerdureError(
      'SESSION_STRANDED',
      `the session's checkpoint has version ${version}, this release reads up to ${CHECKPOINT_VERSION}; upgrade this process`,
    )
  }
  const checkpoint = body as Checkpoint
  return version < 3 ? fromVersion2(version < 2 ? fromVersion1(checkpoint) : checkpoint) : checkpoint
}

/** Knew no clear. */
function fromVersion1(checkpoint: Checkpoint): Checkpoint {
  const { phase } = checkpoint
  if (phase.kind !== 'acting' || phase.stopping === null) return checkpoint
  return { ...checkpoint, phase: { ...phase, stopping: { ...phase.stopping, clears: false } } }
}

/** Counted no costs. */
function fromVersion2(checkpoint: Checkpoint): Checkpoint {
  const { phase } = checkpoint
  const usage = { ...NO_USAGE, ...checkpoint.usage }
  if (!('turn' in phase)) return { ...checkpoint, usage }
  return { ...checkpoint, usage, phase: { ...phase, turn: { ...phase.turn, usage: { ...NO_USAGE, ...phase.turn.usage } } } }
}
