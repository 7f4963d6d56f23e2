/** Checks the metadata of an update. Upstream does it more than once, and reports each mistake each time. */
import type { KubeObject } from '../../../shared/api/types.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import { traitsOf } from '../../kind/subresource-traits.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { dns1123Subdomain, isQualifiedFinalizer, pathSegmentName } from '../../validation/names.ts'
import { validateObjectMeta, validateObjectMetaUpdate } from '../../validation/object-meta.ts'
import type { ObjectScope } from '../write-context.ts'

/** Says how often a kind's own rules check the metadata again: its changes, and the whole of it as in a create. */
interface Repeats {
  changes: number
  whole: number
}
const ordinary: Repeats = { changes: 1, whole: 0 }
const both: Repeats = { changes: 1, whole: 1 }
const wholeOnly: Repeats = { changes: 0, whole: 1 }
const never: Repeats = { changes: 0, whole: 0 }

const repeats = byPlural([
  [
    both,
    'apiservices certificatesigningrequests clusterrolebindings clusterroles configmaps controllerrevisions csistoragecapacities deviceclasses endpoints ingressclasses ingresses ipaddresses jobs namespaces nodes persistentvolumeclaims pods resourceclaims resourceclaimtemplates rolebindings roles runtimeclasses secrets serviceaccounts storageclasses volumeattributesclasses',
  ],
  [
    wholeOnly,
    'csinodes endpointslices flowschemas limitranges mutatingadmissionpolicies mutatingadmissionpolicybindings mutatingwebhookconfigurations prioritylevelconfigurations validatingadmissionpolicies validatingadmissionpolicybindings validatingwebhookconfigurations volumeattachments',
  ],
  [never, 'poddisruptionbudgets'],
  [{ changes: 0, whole: 2 }, 'persistentvolumes'],
])
const repeatsInStatus = byPlural([
  [both, 'certificatesigningrequests'],
  [wholeOnly, 'validatingadmissionpolicies volumeattachments'],
  [never, 'cronjobs poddisruptionbudgets'],
])

function byPlural(entries: [Repeats, string][]): ReadonlyMap<string, Repeats> {
  return new Map(entries.flatMap(([times, plurals]) => plurals.split(' ').map((plural) => [plural, times] as const)))
}

function repeatsOf({ plural, group, custom }: ResourceDefinition, subresource: string | undefined): Repeats {
  if (custom) return ordinary
  if (traitsOf(subresource).writes === 'status') return repeatsInStatus.get(plural) ?? ordinary
  if (subresource && plural === 'pods') return ordinary
  if (plural === 'events' && group === '') return never
  return repeats.get(plural) ?? ordinary
}

export function validateMetadataUpdate(scope: ObjectScope, object: KubeObject, old: KubeObject, errors: FieldErrors) {
  const { definition, subresource } = scope
  const { namespaced, strategy } = definition
  const { nameRuleOf, unqualifiedFinalizers = false } = strategy
  const validateName = nameRuleOf?.(object) ?? strategy.validateName ?? dns1123Subdomain
  const { metadata } = object
  const before = errors.length
  const common = { namespaced, validateName: pathSegmentName, unqualifiedFinalizers: true }
  validateObjectMeta(metadata, common, errors)
  validateObjectMetaUpdate(metadata, old.metadata, errors)
  const isAllRight =
    errors.length === before &&
    !nameRuleOf &&
    !metadata.generateName &&
    (metadata.finalizers ?? []).every(isQualifiedFinalizer)
  if (isAllRight) return
  const { changes, whole } = repeatsOf(definition, subresource)
  const finalizerDomains = !unqualifiedFinalizers
  for (let pass = 0; pass < changes; pass++)
    validateObjectMetaUpdate(metadata, old.metadata, errors, { finalizerDomains })
  for (let pass = 0; pass < whole; pass++)
    validateObjectMeta(metadata, { namespaced, validateName, unqualifiedFinalizers }, errors)
}
