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
  /** Limits the log to its last lines; without it the log is followed until its end. */
  tailLines?: number
}

/** `kubectl logs -f`: calls back for each line until the container has ended. Rejects if the server ends before. */
export async function followLog(options: LogOptions): Promise<void> {
  const { server, ca, user, namespace, pod, container, onLine, tailLines } = options
  const how = tailLines === undefined ? 'follow=true' : `tailLines=${tailLines}`
  const url = `${server}/api/v1/namespaces/${namespace}/pods/${pod}/log?container=${container}&${how}`
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  get(url, { ca, ...user }, (response) => {
    createInterface({ input: response })
      .on('line', onLine)
      .on('close', () => resolve())
      .on('error', reject)
  }).on('error', reject)
  await promise
}
