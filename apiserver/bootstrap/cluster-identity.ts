import { ConfigError } from '../../shared/config/option.ts'
import { objectKey } from '../registry/keys.ts'
import type { Storage } from '../storage/storage.ts'

const key = objectKey({ group: '', plural: 'configmaps' }, 'kube-system', 'kube-root-ca.crt')

/**
 * Rejects with a ConfigError where the objects of a shared storage belong to a cluster with another CA: its nodes and
 * users would not be known, and tokens would not hold.
 */
export async function checkClusterCa(storage: Storage, ca: string): Promise<void> {
  const entry = await storage.get(key)
  if (!entry) return
  const { data } = JSON.parse(entry.value) as { data?: Record<string, string> }
  const known = data?.['ca.crt']
  if (known === undefined || known.trim() === ca.trim()) return
  throw new ConfigError(
    'the objects in etcd belong to a cluster with another CA; start with the pki folder of that cluster, or name another prefix with --etcd-prefix',
  )
}
