/** A Lua script of this folder, run in one round trip. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Redis } from 'ioredis'
import { toMessage } from '../errors.js'

export interface Script {
  /** Sent by its hash; with its text when Redis does not know it, as after a restart. */
  run(redis: Redis, keys: readonly string[], values: readonly (string | number)[]): Promise<unknown>
}

/** `names`: the files whose texts follow one another. */
export function loadScript(...names: readonly string[]): Script {
  const text = names.map((name) => readFileSync(new URL(`lua/${name}.lua`, import.meta.url), 'utf8')).join('\n')
  const sha = createHash('sha1').update(text).digest('hex')
  return {
    async run(redis, keys, values) {
      try {
        return await redis.evalsha(sha, keys.length, ...keys, ...values)
      } catch (thrown) {
        if (!toMessage(thrown).startsWith('NOSCRIPT')) throw thrown
        return redis.eval(text, keys.length, ...keys, ...values)
      }
    },
  }
}
