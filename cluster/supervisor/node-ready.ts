import type { Node } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { nodes } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { isEnabled } from '../../shared/config/controller-names.ts'
import { ConfigError } from '../../shared/config/option.ts'
import { checkLimits, lowLimits } from '../../shared/limits/low-limits.ts'
import { lastWords } from './last-words.ts'

export interface NodeReadyOptions {
  client: Client
  clock: Clock
  nodeName: string
  timeoutMs: number
  /**
   * The cluster's loops, as `--controllers` has them: where one takes the taint of a new node away, that is waited for.
   */
  controllers?: readonly string[]
  /** Names the log that has the reason if the node takes longer. */
  logFile: string
}

const NOT_READY = 'node.kubernetes.io/not-ready'

/**
 * Resolves when the API says that the node's condition Ready is True, and pods may be put there. Rejects after
 * `timeoutMs`, with what the kubelet said, or that it never registered its node.
 */
export async function nodeIsReady(options: NodeReadyOptions): Promise<void> {
  const { client, clock, nodeName, timeoutMs, logFile, controllers = [] } = options
  const isFreed = isEnabled('node-lifecycle-controller', controllers)
  const waiting = new AbortController()
  const timer = clock.setTimer(timeoutMs, () => waiting.abort())
  let isRegistered = false
  try {
    const changes = client.watch<Node>(nodes, { fieldSelector: `metadata.name=${nodeName}`, signal: waiting.signal })
    for await (const { object } of changes) {
      isRegistered = true
      const isReady = object.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')
      const isTainted = object.spec?.taints?.some(({ key }) => key === NOT_READY)
      if (isReady && !(isFreed && isTainted)) return
    }
    const waited = `node ${nodeName} was not ready within ${timeoutMs / 1000} s`
    throw new ConfigError(
      isRegistered
        ? `${waited}${lastWords(logFile)}${lowLimits()}`
        : `${waited}: its kubelet has not registered it${lastWords(logFile)}${lowLimits() || checkLimits}`,
    )
  } finally {
    timer.cancel()
    waiting.abort()
  }
}
