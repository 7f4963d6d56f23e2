import type { Node } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { nodes } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { ConfigError } from '../../shared/config/option.ts'
import { lastWords } from './last-words.ts'

export interface NodeReadyOptions {
  client: Client
  clock: Clock
  nodeName: string
  timeoutMs: number
  /** Where the reason stands when it takes longer. */
  logFile: string
}

/** Resolves when the API says that the node's condition Ready is True. */
export async function nodeIsReady({ client, clock, nodeName, timeoutMs, logFile }: NodeReadyOptions): Promise<void> {
  const waiting = new AbortController()
  const timer = clock.setTimer(timeoutMs, () => waiting.abort())
  try {
    const changes = client.watch<Node>(nodes, { fieldSelector: `metadata.name=${nodeName}`, signal: waiting.signal })
    for await (const { object } of changes) {
      if (object.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')) return
    }
    throw new ConfigError(`node ${nodeName} was not ready within ${timeoutMs / 1000} s${lastWords(logFile)}`)
  } finally {
    timer.cancel()
    waiting.abort()
  }
}
