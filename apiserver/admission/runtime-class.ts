import type { V1Overhead, V1Scheduling } from '@kubernetes/client-node'
import { parseQuantity } from '../../shared/api/quantities/quantity.ts'
import type { ResourceList } from '../../shared/api/quantities/resource-list.ts'
import { forbidden } from '../../shared/api/status/status-errors.ts'
import type { KubeObject, Pod, Wire } from '../../shared/api/types.ts'
import type { Lookup } from '../kind/lookup.ts'
import type { AdmissionAttributes, AdmissionPlugin } from '../registry/admission-plugin.ts'

interface RuntimeClass extends KubeObject {
  overhead?: Wire<V1Overhead>
  scheduling?: Wire<V1Scheduling>
}

const mismatch = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"

/**
 * Sets a pod's overhead and scheduling constraints from its runtime class. Upstream: plugin/pkg/admission/runtimeclass.
 */
export function runtimeClass(lookup: Lookup): AdmissionPlugin {
  const classOf = ({ definition, object }: AdmissionAttributes): RuntimeClass | undefined => {
    const { metadata, spec } = object as unknown as Pod
    if (spec.runtimeClassName === undefined) return undefined
    const found = lookup({ group: 'node.k8s.io', plural: 'runtimeclasses' }, undefined, spec.runtimeClassName)
    if (found) return found as RuntimeClass
    throw forbidden(
      definition,
      metadata.name ?? '',
      `pod rejected: RuntimeClass ${JSON.stringify(spec.runtimeClassName)} not found`,
    )
  }
  return {
    admit(attributes) {
      if (!isPodCreation(attributes)) return
      const pod = attributes.object as unknown as Pod
      const refuse = (why: string) => forbidden(attributes.definition, pod.metadata.name ?? '', why)
      const { overhead, scheduling } = classOf(attributes) ?? {}
      if (overhead) {
        if (hasOverhead(pod) && !sameAmounts(overhead.podFixed, pod.spec.overhead)) throw refuse(mismatch)
        pod.spec.overhead = overhead.podFixed
      }
      if (!scheduling) return
      const nodeSelector = { ...pod.spec.nodeSelector }
      for (const [key, value] of Object.entries(scheduling.nodeSelector ?? {})) {
        const own = pod.spec.nodeSelector?.[key]
        if (own !== undefined && own !== value) {
          throw refuse(
            `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${own}`,
          )
        }
        nodeSelector[key] = value
      }
      if (scheduling.nodeSelector) pod.spec.nodeSelector = nodeSelector
      const own = pod.spec.tolerations ?? []
      const known = new Set(own.map(textOf))
      const more = (scheduling.tolerations ?? []).filter((wanted) => !known.has(textOf(wanted)))
      if (more.length > 0) pod.spec.tolerations = [...own, ...more]
    },
    validate(attributes) {
      if (!isPodCreation(attributes)) return
      const pod = attributes.object as unknown as Pod
      const { overhead } = classOf(attributes) ?? {}
      const refuse = (why: string) => forbidden(attributes.definition, pod.metadata.name ?? '', why)
      if (overhead && !sameAmounts(overhead.podFixed, pod.spec.overhead)) throw refuse(mismatch)
      if (!overhead && hasOverhead(pod))
        throw refuse('pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead')
    },
  }
}

type Toleration = NonNullable<Pod['spec']['tolerations']>[number]
const textOf = ({ key, operator, value, effect, tolerationSeconds }: Toleration): string =>
  JSON.stringify([key, operator, value, effect, tolerationSeconds])

const isPodCreation = ({ operation, definition, subresource }: AdmissionAttributes): boolean =>
  operation === 'CREATE' && definition.group === '' && definition.plural === 'pods' && !subresource

const hasOverhead = ({ spec }: Pod): boolean => Object.keys(spec.overhead ?? {}).length > 0

const sameAmounts = (a: ResourceList = {}, b: ResourceList = {}): boolean =>
  Object.keys(a).length === Object.keys(b).length &&
  Object.entries(a).every(([name, amount]) => parseQuantity(amount).nano === parseQuantity(b[name] ?? '0').nano)
