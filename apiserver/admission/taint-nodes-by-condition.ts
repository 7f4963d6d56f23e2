import type { Node } from '../../shared/api/types.ts'
import type { AdmissionPlugin } from '../registry/admission-plugin.ts'

const key = 'node.kubernetes.io/not-ready'

/** A new node gets no pods until a controller has found it ready. */
export const taintNodesByCondition: AdmissionPlugin = {
  admit({ operation, definition, subresource, object }) {
    if (operation !== 'CREATE' || definition.group !== '' || definition.plural !== 'nodes' || subresource) return
    const node = object as unknown as Node
    const taints = node.spec?.taints ?? []
    if (taints.some((taint) => taint.key === key && taint.effect === 'NoSchedule')) return
    node.spec = { ...node.spec, taints: [...taints, { key, effect: 'NoSchedule' }] }
  },
}
