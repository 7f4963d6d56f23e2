import { forbidden } from '../../shared/api/status/status-errors.ts'
import type { KubeObject, Pod } from '../../shared/api/types.ts'
import type { Lookup, LookupAll } from '../kind/lookup.ts'
import type { AdmissionAttributes, AdmissionPlugin } from '../registry/admission-plugin.ts'

interface PriorityClass extends KubeObject {
  value: number
  globalDefault?: boolean
  preemptionPolicy?: string
}

const classes = { group: 'scheduling.k8s.io', plural: 'priorityclasses' }
const systemClasses = new Set(['system-node-critical', 'system-cluster-critical'])

/**
 * Sets a pod's priority to the value of its priority class, and allows at most one default class. Upstream:
 * plugin/pkg/admission/priority.
 */
export function priority(lookup: Lookup, lookupAll: LookupAll): AdmissionPlugin {
  const defaults = (): PriorityClass[] =>
    [...lookupAll(classes)].filter(({ globalDefault }) => globalDefault) as PriorityClass[]
  return {
    admit(attributes) {
      const { operation, definition, subresource, object, old } = attributes
      if (definition.plural !== 'pods' || definition.group !== '' || subresource) return
      if (operation !== 'CREATE' && operation !== 'UPDATE') return
      const { metadata, spec } = object as unknown as Pod
      if (operation === 'UPDATE') {
        const { priority, preemptionPolicy } = (old as unknown as Pod).spec
        if (spec.priority !== undefined && spec.preemptionPolicy !== undefined) return
        object!.spec = {
          ...spec,
          priority: spec.priority ?? priority,
          preemptionPolicy: spec.preemptionPolicy ?? preemptionPolicy,
        }
        return
      }
      const refused = (why: string) => forbidden(definition, metadata.name ?? '', why)
      let found: PriorityClass | undefined
      if (spec.priorityClassName) {
        found = lookup(classes, undefined, spec.priorityClassName) as PriorityClass | undefined
        if (!found) throw refused(`no PriorityClass with name ${spec.priorityClassName} was found`)
      } else {
        // The lowest counts of several, which only a race can make.
        ;[found] = defaults().sort((a, b) => a.value - b.value)
        if (found) spec.priorityClassName = found.metadata.name
      }
      const { value = 0, preemptionPolicy = 'PreemptLowerPriority' } = found ?? {}
      if (spec.priority !== undefined && spec.priority !== value)
        throw refused(notToBeSet('integer', 'priority', spec.priority, value))
      spec.priority = value
      if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== preemptionPolicy)
        throw refused(notToBeSet('string', 'PreemptionPolicy', spec.preemptionPolicy, preemptionPolicy))
      spec.preemptionPolicy = preemptionPolicy
    },
    validate({ operation, definition, subresource, object, name }) {
      if (definition.group !== classes.group || definition.plural !== classes.plural) return
      if (operation === 'DELETE') {
        if (!systemClasses.has(name)) return
        throw forbidden(definition, name, 'this is a system priority class and cannot be deleted')
      }
      if (subresource || !(object as PriorityClass).globalDefault) return
      const [other] = defaults().filter(({ metadata }) => metadata.name !== object?.metadata.name)
      if (!other) return
      const why = `PriorityClass ${other.metadata.name} is already marked as default. Only one default can exist`
      throw forbidden(definition, object?.metadata.name ?? '', why)
    },
  } satisfies { [Phase in keyof AdmissionPlugin]: (attributes: AdmissionAttributes) => void }
}

const notToBeSet = (type: string, what: string, given: string | number, computed: string | number): string =>
  `the ${type} value of ${what} (${given}) must not be provided in pod spec; priority admission controller computed ${computed} from the given PriorityClass name`
