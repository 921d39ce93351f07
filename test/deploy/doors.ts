/**
 * The ways to the api processes from outside: a balancer of TCP connections, and each of the proxies of examples/deploy that this machine
 * has, with its file as it stands but for addresses and certificates.
 */
import { accessSync, constants } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { startChildService } from '../support/child-service.js'
import { findFreePort } from '../support/server-process.js'
import { DEPLOY } from './compose-file.js'

export interface Door {
  /** Without a slash at its end. */
  readonly url: string
  close(): Promise<void>
}

interface Way {
  readonly name: string
  /** It serves only what its file lets through. */
  readonly proxy: boolean
  readonly open: (apiPorts: readonly number[]) => Promise<Door>
}

/** A proxy that is not installed is left out. */
export const DOORS: readonly Way[] = [
  { name: 'a TCP balancer', proxy: false, open: openBalancer },
  ...(findProgram('caddy') === null ? [] : [{ name: 'Caddy', proxy: true, open: openCaddy }]),
  ...(findProgram('nginx') === null ? [] : [{ name: 'nginx', proxy: true, open: openNginx }]),
]

export function findProgram(name: string): string | null {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin']
  return folders.map((folder) => join(folder, name)).find(isExecutable) ?? null
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Each connection goes to the first process, from one on that changes, which takes it. */
async function openBalancer(apiPorts: readonly number[]): Promise<Door> {
  const sockets = new Set<Socket>()
  let turn = 0
  const server = createServer((client) => {
    turn += 1
    const order = apiPorts.map((_, index) => apiPorts[(turn + index) % apiPorts.length] ?? 0)
    void joinSockets(client, order, sockets)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function joinSockets(client: Socket, ports: readonly number[], sockets: Set<Socket>): Promise<void> {
  sockets.add(client)
  client.on('error', () => undefined)
  for (const port of ports) {
    const upstream = connect(port, '127.0.0.1')
    sockets.add(upstream)
    const isOpen = await Promise.race([once(upstream, 'connect').then(() => true), once(upstream, 'close').then(() => false)]).catch(
      () => false,
    )
    if (!isOpen) continue
    upstream.on('error', () => undefined)
    upstream.once('close', () => client.destroy())
    client.once('close', () => upstream.destroy())
    client.pipe(upstream).pipe(client)
    return
  }
  client.destroy()
}

async function openCaddy(apiPorts: readonly number[]): Promise<Door> {
  const port = await findFreePort()
  const folder = await mkdtemp(join(tmpdir(), 'perdure-caddy-'))
  const text = (await readFile(`${DEPLOY}Caddyfile`, 'utf8')).replace('{\n', '{\n\tadmin off\n').replace('{$SITE_ADDRESS}', `:${port}`)
  const file = join(folder, 'Caddyfile')
  await writeFile(file, withPorts(text, ['api-1:4000', 'api-2:4000'], apiPorts))
  const args = [`HOME=${folder}`, findProgram('caddy') ?? 'caddy', 'run', '--config', file, '--adapter', 'caddyfile']
  return serve({ command: 'env', args, readyWhen: /serving initial configuration/, port, folder })
}

async function openNginx(apiPorts: readonly number[]): Promise<Door> {
  const port = await findFreePort()
  const folder = await mkdtemp(join(tmpdir(), 'perdure-nginx-'))
  const text = (await readFile(`${DEPLOY}systemd/nginx.conf`, 'utf8'))
    .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
    .replaceAll(/^ *ssl_certificate.*\n/gm, '')
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((each) => `${each}_temp_path ${folder}/${each};`).join(' ')
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  const head = `daemon off; pid ${folder}/pid; error_log stderr notice; ${user} events {}`
  const file = join(folder, 'nginx.conf')
  const site = withPorts(text, ['127.0.0.1:4001', '127.0.0.1:4002'], apiPorts)
  await writeFile(file, `${head}\nhttp { access_log off; ${folders}\n${site}\n}`)
  const args = ['-c', file, '-e', 'stderr']
  return serve({ command: findProgram('nginx') ?? 'nginx', args, readyWhen: /start worker process /, port, folder })
}

/** A name of the file that does not stand in it would leave the file's own address in place. */
function withPorts(text: string, names: readonly string[], ports: readonly number[]): string {
  return names.reduce((changed, name, index) => {
    if (!changed.includes(name)) throw new Error(`there is no ${name} in\n${text}`)
    return changed.replaceAll(name, `127.0.0.1:${ports[index] ?? 0}`)
  }, text)
}

interface Served {
  readonly command: string
  readonly args: readonly string[]
  readonly readyWhen: RegExp
  readonly port: number
  readonly folder: string
}

async function serve({ port, folder, ...command }: Served): Promise<Door> {
  const service = await startChildService(command)
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      await service.kill('SIGTERM')
      await rm(folder, { recursive: true, force: true })
    },
  }
}
