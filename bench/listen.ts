/** A server of the bench on a port of this machine. */
import type { Server } from 'node:http'

export function listen(server: Server): Promise<URL> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(new URL(`http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/`))
    })
  })
}

export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
