import { forbidden } from '../../shared/api/status-errors.ts'
import type { KubeObject, Pod } from '../../shared/api/types.ts'
import type { AdmissionPlugin, Lookup } from './admission-plugin.ts'

interface PriorityClass extends KubeObject {
  value: number
  preemptionPolicy?: string
}

/** Those that every cluster has. */
const systemClasses: Readonly<Record<string, number>> = {
  'system-cluster-critical': 2_000_000_000,
  'system-node-critical': 2_000_001_000,
}

/** Turns the name of a priority class into the number that counts. */
export function priority(lookup: Lookup): AdmissionPlugin {
  const classes = { group: 'scheduling.k8s.io', plural: 'priorityclasses' }
  return {
    admit({ operation, definition, subresource, object }) {
      if (operation !== 'CREATE' || definition.group !== '' || definition.plural !== 'pods' || subresource) return
      const { metadata, spec } = object as unknown as Pod
      const refused = (why: string) => forbidden(definition, metadata.name ?? '', why)
      let value = 0
      let preemptionPolicy = 'PreemptLowerPriority'
      const name = spec.priorityClassName
      if (name) {
        const found = lookup(classes, undefined, name) as PriorityClass | undefined
        const known = found?.value ?? (Object.hasOwn(systemClasses, name) ? systemClasses[name] : undefined)
        if (known === undefined) throw refused(`no PriorityClass with name ${name} was found`)
        value = known
        preemptionPolicy = found?.preemptionPolicy ?? preemptionPolicy
      }
      if (spec.priority !== undefined && spec.priority !== value) {
        throw refused(
          `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`,
        )
      }
      spec.priority = value
      spec.preemptionPolicy ??= preemptionPolicy
    },
  }
}
