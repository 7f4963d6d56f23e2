import type { Client } from '../../shared/client/client.ts'
import { namespaces, serviceAccounts } from '../../shared/client/resources.ts'
import { until } from '../harness/until.ts'

/** For an object that may be there already. */
export const unlessThere = (error: { code?: number }): void => {
  if (error.code !== 409) throw error
}

/** Resolves when pods can be created in the namespace, which may be there already. */
export async function ensureNamespace(client: Client, name: string): Promise<void> {
  await client.create(namespaces, { metadata: { name } }).catch(unlessThere)
  const account = () => client.get(serviceAccounts, { namespace: name, name: 'default' }).catch(() => undefined)
  await until(account, { what: `the ServiceAccount of namespace ${name}`, timeoutMs: 120_000 })
}
