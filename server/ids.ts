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

export type IdPrefix = 'ses' | 'turn' | 'stp' | 'call' | 'dlv' | 'blk' | 'wrk' | 'req' | 'err'

/** Makes identifiers. Injected, so that a test can make them deterministic. */
export interface IdSource {
  next<Prefix extends IdPrefix>(prefix: Prefix): Id<Prefix>
}

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const SUFFIX = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/

/** Random identifiers, ordered within one process even when several are made in the same millisecond. */
export function createIdSource(now: () => number = Date.now): IdSource {
  let lastMs = 0
  let counter = 0
  const random = new Uint8Array(8)
  return {
    next<Prefix extends IdPrefix>(prefix: Prefix): Id<Prefix> {
      randomFillSync(random)
      const ms = Math.max(now(), lastMs)
      counter = ms === lastMs ? counter + 1 : randomStart(random)
      if (counter > 0xfff) {
        lastMs = ms + 1
        counter = randomStart(random)
      } else {
        lastMs = ms
      }
      return `${prefix}_${encode(uuidV7(lastMs, counter, random))}` as Id<Prefix>
    },
  }
}

/** Leaves half of the counter's range free, so that a burst within a millisecond stays in order. */
function randomStart(random: Uint8Array): number {
  return (((random[0] ?? 0) << 8) | (random[1] ?? 0)) & 0x7ff
}

function uuidV7(ms: number, counter: number, random: Uint8Array): bigint {
  const tail = new DataView(random.buffer).getBigUint64(0) & 0x3fff_ffff_ffff_ffffn
  return (BigInt(ms) << 80n) | (7n << 76n) | (BigInt(counter) << 64n) | (2n << 62n) | tail
}

function encode(value: bigint): string {
  let text = ''
  for (let rest = value, place = 0; place < 26; place += 1, rest >>= 5n) {
    text = (ALPHABET[Number(rest & 31n)] ?? '') + text
  }
  return text
}

/** True for a well-formed identifier of this prefix; says nothing about whether the thing exists. */
export function isId<Prefix extends IdPrefix>(prefix: Prefix, value: string): value is Id<Prefix> {
  return value.startsWith(`${prefix}_`) && SUFFIX.test(value.slice(prefix.length + 1))
}

/** Brands an identifier that comes from our own database. */
export function storedId<Prefix extends IdPrefix>(_prefix: Prefix, value: string): Id<Prefix> {
  return value as Id<Prefix>
}
