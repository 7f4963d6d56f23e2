import { get } from 'node:https'
import { createInterface } from 'node:readline'
import type { KeyPair } from '../../shared/pki/certificate.ts'

export interface LogOptions {
  server: string
  ca: string
  user: KeyPair
  namespace: string
  pod: string
  container: string
  onLine(line: string): void
}

/** `kubectl logs -f`: calls back for each line until the container has ended. */
export async function followLog({ server, ca, user, namespace, pod, container, onLine }: LogOptions): Promise<void> {
  const url = `${server}/api/v1/namespaces/${namespace}/pods/${pod}/log?container=${container}&follow=true`
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  get(url, { ca, ...user }, (response) => {
    createInterface({ input: response })
      .on('line', onLine)
      .on('close', () => resolve())
  }).on('error', reject)
  await promise
}
