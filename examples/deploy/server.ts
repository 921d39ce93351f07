/**
 * One process of a deployment: api or worker, as PERDURE_ROLE says. It does what `perdure start` does, and two things more: callers sign in,
 * without which a server that others can reach serves nobody, and whatever it prints is a line of JSON.
 */
import { createHash } from 'node:crypto'
import { createPerdure, type Authenticate, type Caller } from 'perdure'
import * as agents from '../agents/index.js'

/** A worker answers no requests, and its tools need not be able to read what callers sign in with. */
const authenticate = process.env['PERDURE_ROLE'] === 'worker' ? () => null : signIn(process.env['API_TOKENS'] ?? '')
const perdure = await createPerdure({
  agents: Object.values(agents),
  authenticate,
  onTurn: (turn) => print('turn', turn),
})
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop())
print('ready', { ...(await perdure.listen()), pid: process.pid })

/**
 * Takes `authorization: Bearer <token>` and says whose token that is. The list is `name:token,name:token`; two tokens of one name let a
 * client change from the old to the new. Put your own sign-in here: whatever gives a tenant, an id and scopes will do.
 */
function signIn(list: string): Authenticate {
  const callers = new Map(list.split(',').map(toEntry))
  return (request) => {
    const token = /^Bearer +(\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
    return token === undefined ? null : (callers.get(digest(token)) ?? null)
  }
}

function toEntry(entry: string): readonly [string, Caller] {
  const [, id, token] = /^\s*([\w.@-]+):(\S{32,})\s*$/.exec(entry) ?? []
  if (id === undefined || token === undefined) {
    throw new Error('API_TOKENS has to be name:token[,name:token …], each token 32 characters or more: openssl rand -hex 32')
  }
  return [digest(token), { tenant: 'default', id, kind: 'USER', scopes: ['sessions:read', 'sessions:write'] }]
}

/** Looked up by its hash: how long that takes tells nothing of the tokens that there are. */
function digest(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

/** What runs gets to a commit or is handed to another process; whoever waits longer than that may kill this one. */
async function stop(): Promise<void> {
  print('stopping')
  await perdure.stop()
  print('stopped')
  process.exit(0)
}

function print(msg: string, fields: object = {}): void {
  process.stdout.write(`${JSON.stringify({ level: 'info', time: new Date().toISOString(), msg, ...fields })}\n`)
}
