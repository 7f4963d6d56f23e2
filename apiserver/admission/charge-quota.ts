import type { User } from '../kind/user.ts'
import type { Registry } from '../registry/registry.ts'
import type { ChargeQuota, Quota } from './resource-quota.ts'

/** Writes a quota's status through the registry, as the server itself, if the quota is still what it was. */
export function chargeQuotaIn(registry: Registry, user: User): ChargeQuota {
  return async ({ metadata }, used) => {
    const definition = registry.catalog.find('', 'v1', 'resourcequotas')
    if (!definition) return
    const { namespace, name = '', resourceVersion } = metadata
    await registry.update(
      { definition, namespace, name, subresource: 'status', user },
      {
        uidIsPrecondition: false,
        createAbsent: 'never',
        transform(current) {
          const quota = current!() as Quota
          quota.status = { ...quota.status, used: { ...quota.status?.used, ...used } }
          quota.metadata.resourceVersion = resourceVersion
          return quota
        },
      },
      { dryRun: false, fieldManager: 'kube-apiserver', warn: () => {} },
    )
  }
}
