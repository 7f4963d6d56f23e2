import type { V1ResourceQuotaSpec, V1ResourceQuotaStatus } from '@kubernetes/client-node'
import { ownValue } from '../../shared/api/json/own-value.ts'
import { compareQuantities, isNegativeQuantity, isZeroQuantity } from '../../shared/api/quantities/quantity.ts'
import { addLists, maskList, type ResourceList, subtractLists } from '../../shared/api/quantities/resource-list.ts'
import { StatusError } from '../../shared/api/status/status-error.ts'
import { forbidden } from '../../shared/api/status/status-errors.ts'
import type { KubeObject, Pod, Wire } from '../../shared/api/types.ts'
import { KeyedTurns } from '../../shared/concurrency/keyed-turns.ts'
import { unsaid } from '../../shared/quota/pod-usage.ts'
import { isInScopes } from '../../shared/quota/scopes.ts'
import { namesCountedBy, printList, usageOf } from '../../shared/quota/usage.ts'
import type { LookupAll } from '../kind/lookup.ts'
import type { AdmissionAttributes, AdmissionPlugin } from '../registry/admission-plugin.ts'

export interface Quota extends KubeObject {
  spec?: Wire<V1ResourceQuotaSpec>
  status?: Wire<V1ResourceQuotaStatus>
}

/** Writes a quota's new usage. Throws a StatusError (409) if the quota has changed in the meantime. */
export type ChargeQuota = (quota: Quota, used: ResourceList) => Promise<void>

const resourceQuotas = { group: '', plural: 'resourcequotas' }
/** Tries. Writes of this server take turns, so that each conflict is a write of another server. */
const attemptsAfter = ({ status }: StatusError): number => (status.reason === 'Conflict' ? 100 : 10)

/**
 * Refuses requests that exceed a quota of the namespace, and charges the quotas before the object is written. The
 * plugin must run after all others. Upstream: apiserver/pkg/admission/plugin/resourcequota.
 */
export function resourceQuota(lookupAll: LookupAll, charge: ChargeQuota, nowMs: () => number): AdmissionPlugin {
  const turns = new KeyedTurns()
  const quotasOf = (namespace: string): Quota[] => [...lookupAll(resourceQuotas, namespace)]
  return {
    validate(attributes) {
      const { namespace, dryRun } = attributes
      if (namespace === undefined || !isCounted(attributes)) return undefined
      const quotas = quotasOf(namespace)
      if (quotas.length === 0) return undefined
      const charges = chargesOf(attributes, quotas, nowMs())
      if (dryRun || charges.length === 0) return undefined
      return chargeAll(charges)
    },
  }

  async function chargeAll(charges: Charge[]): Promise<void> {
    for (const { attributes, name } of charges) {
      const key = `${attributes.namespace}/${name}`
      let turn = turns.isTaken(key) ? await turns.take(key) : undefined
      try {
        for (let attempt = 1; ; attempt++) {
          const quotas = quotasOf(attributes.namespace!).filter(({ metadata }) => metadata.name === name)
          const [again] = chargesOf(attributes, quotas, nowMs())
          if (!again) break
          try {
            await charge(again.quota, again.used)
            break
          } catch (error) {
            if (!(error instanceof StatusError) || attempt >= attemptsAfter(error)) throw error
          }
          turn ??= await turns.take(key)
        }
      } finally {
        turn?.[Symbol.dispose]()
      }
    }
  }
}

interface Charge {
  attributes: AdmissionAttributes
  name: string
  quota: Quota
  used: ResourceList
}

/** Pods count when they are made; what else can grow counts when it does. */
function isCounted({ operation, definition, subresource }: AdmissionAttributes): boolean {
  if (operation === 'CREATE') return !subresource
  if (operation !== 'UPDATE' || definition.group !== '') return false
  if (definition.plural === 'pods') return subresource === 'resize'
  return !subresource && (definition.plural === 'services' || definition.plural === 'persistentvolumeclaims')
}

/** Returns what the quotas that count the object would show as used. Throws a StatusError (403) if one is exceeded. */
function chargesOf(attributes: AdmissionAttributes, quotas: Quota[], nowMs: number): Charge[] {
  const { definition, object, old } = attributes
  const refuse = (why: string) => forbidden(definition, object!.metadata.name ?? '', why)
  const concerned = quotas.flatMap((quota) => {
    const names = namesCountedBy(definition, Object.keys(quota.status?.hard ?? {}))
    return names.length > 0 && isInScopes(quota.spec ?? {}, definition, object!) ? [{ quota, names }] : []
  })
  if (concerned.length === 0) return []
  for (const { quota, names } of concerned) {
    const { name } = quota.metadata
    const why =
      definition.plural === 'pods' && definition.group === '' ? unsaid(object as unknown as Pod, names) : undefined
    if (why !== undefined) throw refuse(`failed quota: ${name}: ${why}`)
    const unknown = names.filter((resource) => ownValue(quota.status?.used, resource) === undefined).sort()
    if (unknown.length > 0) throw refuse(`status unknown for quota: ${name}, resources: ${unknown.join(',')}`)
  }
  const usage = usageOf(definition, object!, nowMs)
  const negative = Object.keys(usage).filter((name) => isNegativeQuantity(usage[name]!))
  if (negative.length > 0) throw refuse(`quota usage is negative for resource(s): ${negative.sort().join(',')}`)
  const added = old ? subtractLists(usage, usageOf(definition, old, nowMs)) : usage
  return concerned.flatMap(({ quota, names }) => {
    const requested = Object.fromEntries(
      Object.entries(maskList(added, names)).filter(([, amount]) => !isZeroQuantity(amount)),
    )
    if (Object.keys(requested).length === 0) return []
    const { hard = {}, used = {} } = quota.status ?? {}
    const after = addLists(used, requested)
    const exceeded = Object.keys(requested).filter(
      (name) => !isNegativeQuantity(requested[name]!) && compareQuantities(after[name]!, hard[name]!) > 0,
    )
    const name = quota.metadata.name ?? ''
    if (exceeded.length > 0) {
      const shown = (list: ResourceList): string => printList(maskList(list, exceeded))
      throw refuse(
        `exceeded quota: ${name}, requested: ${shown(requested)}, used: ${shown(used)}, limited: ${shown(hard)}`,
      )
    }
    return [{ attributes, name, quota, used: after }]
  })
}
