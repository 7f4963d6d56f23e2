import { ConfigError } from '../../../shared/config/option.ts'
import type { EtcdClient } from './client.ts'

/** There while objects are copied to a prefix, and after a copy that failed: no API server starts on a part of them. */
export const incompleteKey = (prefix: string): string => `${prefix}kubestage.dev/incomplete`

/** Rejects with a ConfigError where a copy has not ended. */
export async function checkComplete(client: Pick<EtcdClient, 'call'>, prefix: string): Promise<void> {
  const question = { key: incompleteKey(prefix), count_only: true }
  const { count } = await client.call('range', question, { isRepeatable: true })
  if (count === 0) return
  throw new ConfigError(
    `the objects below ${prefix} in etcd are incomplete: kubestage storage copy is at work, or has failed; run it again with --overwrite`,
  )
}
