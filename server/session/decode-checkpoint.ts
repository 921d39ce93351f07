/** From a stored checkpoint to the one that this code works with. */
import { PerdureError } from '../errors.js'
import { CHECKPOINT_VERSION, type Checkpoint } from './checkpoint.js'

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
  return version < 2 ? fromVersion1(body as Checkpoint) : (body as Checkpoint)
}

/** Knew no clear. */
function fromVersion1(checkpoint: Checkpoint): Checkpoint {
  const { phase } = checkpoint
  if (phase.kind !== 'acting' || phase.stopping === null) return checkpoint
  return { ...checkpoint, phase: { ...phase, stopping: { ...phase.stopping, clears: false } } }
}
