/** A server in this process with a database of its own that is gone afterwards. What your app does once at its start. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient, type Client } from '@perdure/sdk'
import { createPerdure, type Agent } from 'perdure'

export async function serve(...agents: readonly Agent[]): Promise<{ readonly client: Client; readonly stop: () => Promise<void> }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'perdure-example-'))
  const perdure = await createPerdure({ agents, config: { port: 0, dataDir, databaseUrl: null } })
  const { url } = await perdure.listen()
  return {
    client: createClient({ url: `${url}/graphql` }),
    stop: async () => {
      await perdure.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
