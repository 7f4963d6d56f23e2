import { rootOf } from '../../../shared/api/upstream-keys.ts'
import { EtcdClient } from '../etcd/client.ts'
import { type Contents, rangeOf, readRange } from '../etcd/load.ts'
import { startError } from '../etcd/reasons.ts'
import { readTls } from '../etcd/tls-files.ts'
import { checkVersion } from '../etcd/version.ts'
import type { OpenOptions } from '../open-options.ts'

const startTimeoutMs = 5_000

/** The keys of one cluster in etcd, which are read without writing anything. */
export interface EtcdPlace {
  client: EtcdClient
  /** `etcd at URL`, for messages. */
  name: string
  prefix: string
  /** Holds the ID of the etcd cluster, as the etcd reports it. */
  clusterId: string
}

/** Rejects with a ConfigError where etcd cannot be used. */
export async function openEtcdPlace(endpoints: readonly string[], options: OpenOptions): Promise<EtcdPlace> {
  const { clock, etcdPrefix = '/registry' } = options
  const name = `etcd at ${endpoints.join(', ')}`
  const client = new EtcdClient({ endpoints, tls: readTls(options), clock: clock.machine })
  try {
    const { version, header } = await client.call('status', {}, { isRepeatable: true, timeoutMs: startTimeoutMs })
    checkVersion(version, name)
    return { client, name, prefix: rootOf(etcdPrefix), clusterId: header?.cluster_id ?? '' }
  } catch (error) {
    client.close()
    throw startError(error, name)
  }
}

/** All objects as they are at one revision. Rejects with a ConfigError for objects of a real kube-apiserver. */
export async function readAll({ client, name, prefix }: EtcdPlace): Promise<Contents> {
  try {
    return await readRange(client, prefix, { range: rangeOf(prefix), revision: 0 })
  } catch (error) {
    throw startError(error, name)
  }
}
