/** REDIS_URL, taken apart. `?cluster=true` makes it the address of one node of a Redis Cluster, which tells of the others. */
import { isIP } from 'node:net'

export interface RedisAddress {
  readonly host: string
  readonly port: number
  /** As the client takes it: who we are, and how the connection is encrypted. */
  readonly access: {
    readonly username?: string
    readonly password?: string
    readonly db?: number
    readonly tls?: { readonly servername?: string }
  }
  readonly isCluster: boolean
  /** For the log: without the password. */
  readonly shown: string
}

export function parseRedisUrl(text: string): RedisAddress {
  const url = new URL(text)
  const { username, password, port, protocol } = url
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const db = Number(url.pathname.slice(1))
  return {
    host: host === '' ? 'localhost' : host,
    port: port === '' ? 6379 : Number(port),
    access: {
      ...(username !== '' && { username: decodeURIComponent(username) }),
      ...(password !== '' && { password: decodeURIComponent(password) }),
      ...(db > 0 && { db }),
      // The nodes of a cluster may go by their numbers; the certificate names whom we asked for.
      ...(protocol === 'rediss:' && { tls: isIP(host) === 0 ? { servername: host } : {} }),
    },
    isCluster: url.searchParams.get('cluster') === 'true',
    shown: withoutPassword(url),
  }
}

function withoutPassword(url: URL): string {
  const shown = new URL(url)
  if (shown.password !== '') shown.password = '***'
  return shown.href
}
