/**
 * Identifiers: a readable prefix and a time-ordered suffix, as the TypeID specification has it: a UUIDv7
 * (RFC 9562) in Crockford's base 32, 26 characters. They sort by the time they were made and are opaque to clients.
 */
import { randomFillSync } from 'node:crypto'

declare const brand: unique symbol
export type Id<Prefix extends string> = string & { readonly [brand]: Prefix }

export type SessionId = Id<'ses'>
export type TurnId = Id<'turn'>
export type StepId = Id<'stp'>
export type CallId = Id<'call'>
export type DeliveryId = Id<'dlv'>
export type BlockId = Id<'blk'>
export type WorkerId = Id<'wrk'>
export type RequestId = Id<'req'>

export type IdPrefix = 'ses' | 'turn' | 'stp' | 'call' | 'dlv' | 'blk' | 'wrk' | 'req' | 'err'

/** Makes identifiers. Injected, so that a test can make them deterministic. */
export interface IdSource {
  next<Prefix extends IdPrefix>(prefix: Prefix): Id<Prefix>
}

const ALPHABET = Buffer.from('0123456789abcdefghjkmnpqrstvwxyz', 'latin1')
const SUFFIX = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/
/** Random bytes of one identifier, and of those that are drawn together: asking the system costs more than all the rest. */
const RANDOM_BYTES = 8
const DRAWN_BYTES = 512 * RANDOM_BYTES

/** Random identifiers, ordered within one process even when several are made in the same millisecond. */
export function createIdSource(now: () => number = Date.now): IdSource {
  let lastMs = 0
  let counter = 0
  const drawn = new DataView(new ArrayBuffer(DRAWN_BYTES))
  let used = DRAWN_BYTES
  const uuid = new DataView(new ArrayBuffer(16))

  return {
    next<Prefix extends IdPrefix>(prefix: Prefix): Id<Prefix> {
      if (used === DRAWN_BYTES) {
        randomFillSync(drawn)
        used = 0
      }
      const ms = Math.max(now(), lastMs)
      counter = ms === lastMs ? counter + 1 : randomStart(drawn, used)
      if (counter > 0xfff) {
        lastMs = ms + 1
        counter = randomStart(drawn, used)
      } else {
        lastMs = ms
      }
      uuid.setUint16(0, lastMs / 2 ** 32)
      uuid.setUint32(2, lastMs)
      uuid.setUint16(6, 0x7000 | counter)
      uuid.setUint32(8, 0x8000_0000 | (drawn.getUint32(used) & 0x3fff_ffff))
      uuid.setUint32(12, drawn.getUint32(used + 4))
      used += RANDOM_BYTES
      return `${prefix}_${encode(uuid)}` as Id<Prefix>
    },
  }
}

/** Leaves half of the counter's range free, so that a burst within a millisecond stays in order. */
function randomStart(random: DataView, at: number): number {
  return random.getUint16(at) & 0x7ff
}

/** 26 characters of 5 bits for 128, two zeros in front. */
function encode(uuid: DataView): string {
  const text = Buffer.allocUnsafe(26)
  let [bits, held, place] = [2, 0, 0]
  for (let at = 0; at < uuid.byteLength; at += 1) {
    held = ((held << 8) | uuid.getUint8(at)) & 0xfff
    for (bits += 8; bits >= 5; bits -= 5, place += 1) text[place] = ALPHABET[(held >> (bits - 5)) & 31] ?? 0
  }
  return text.toString('latin1')
}

/** True for a well-formed identifier of this prefix; says nothing about whether the thing exists. */
export function isId<Prefix extends IdPrefix>(prefix: Prefix, value: string): value is Id<Prefix> {
  return value.startsWith(`${prefix}_`) && SUFFIX.test(value.slice(prefix.length + 1))
}

/** Brands an identifier that comes from our own database. */
export function storedId<Prefix extends IdPrefix>(_prefix: Prefix, value: string): Id<Prefix> {
  return value as Id<Prefix>
}
