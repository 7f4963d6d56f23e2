import { type AddressInfo, createServer } from 'node:net'

/**
 * Resolves to the system's code (EADDRINUSE, EACCES, …) that says why the port cannot be used; to undefined if it can.
 */
export function whyNotListening(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code))
    server.listen(port, host, () => server.close(() => resolve(undefined)))
  })
}

/**
 * The port itself, or 0 (a free one) where another program has it: for ports that the user did not choose, so that two
 * clusters never collide.
 */
export async function portOrFreeOne(host: string, port: number): Promise<number> {
  return (await whyNotListening(host, port)) === 'EADDRINUSE' ? 0 : port
}

/** A port on which nothing listens at that address. */
export function freePort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, host, () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}
