import type { AddressInfo } from 'node:net'
import type { HTTPGetAction } from '../../../shared/api/types.ts'
import { createServer } from '../../../shared/http/node-http.ts'

/** Answers liveness probes for pods: they are well until it says otherwise, once. */
export interface Sickbay {
  probeOf(pod: string): HTTPGetAction
  fallIll(pod: string): void
  close(): void
}

export async function openSickbay(): Promise<Sickbay> {
  const ill = new Set<string>()
  const server = createServer((request, response) => {
    const isIll = ill.delete(request.url?.slice(1) ?? '')
    response.writeHead(isIll ? 500 : 200).end()
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    probeOf: (pod) => ({ host: '127.0.0.1', port, path: `/${pod}`, scheme: 'HTTP' }),
    fallIll: (pod) => void ill.add(pod),
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
