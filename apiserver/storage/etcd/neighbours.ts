import { root } from '../../../shared/api/upstream-keys.ts'
import { ConfigError } from '../../../shared/config/option.ts'
import type { EtcdClient } from './client.ts'

/** Written by each API server when it starts (apiserver/several-servers/shared-key.ts). */
const mark = 'kubestage.dev/cluster/service-account-key'
/** Each cluster has one of these keys, also one of a real kube-apiserver. */
const marks = [mark, 'namespaces/kube-system']

/**
 * Rejects with a ConfigError where a cluster has a prefix above this one: it would take our keys for its own objects.
 * Prefixes end with a slash.
 */
export async function checkAbove(client: Pick<EtcdClient, 'call'>, prefix: string): Promise<void> {
  const found = await Promise.all(
    above(prefix).flatMap((other) =>
      marks.map(async (name) => {
        const question = { key: other + name, count_only: true }
        const { count } = await client.call('range', question, { isRepeatable: true })
        return count === 0 ? undefined : other
      }),
    ),
  )
  const other = found.find((one) => one !== undefined)
  if (other) throw refusal(other)
}

/** Throws a ConfigError where another cluster has its prefix below this one. `keys`: of objects, as they are here. */
export function checkBelow(prefix: string, keys: Iterable<string>): void {
  for (const key of keys) {
    if (!key.endsWith(`/${mark}`) || key === root + mark) continue
    throw refusal(prefix + key.slice(root.length, -mark.length), prefix)
  }
}

/** `/` and `/a/` of `/a/b/`. */
function above(prefix: string): string[] {
  const words = prefix.split('/').slice(1, -1)
  return words.map((_, index) => ['', ...words.slice(0, index), ''].join('/'))
}

const refusal = (other: string, ours?: string): ConfigError =>
  new ConfigError(
    `the keys of another cluster are below ${other} in etcd${ours ? `, and so below ${ours}` : ''}; name another prefix with --etcd-prefix`,
  )
