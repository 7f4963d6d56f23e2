import type { Pod } from '../../shared/api/types.ts'
import type { AdmissionPlugin } from '../registry/admission-plugin.ts'

const keys = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']
const tolerationSeconds = 300

/**
 * Adds tolerations that keep a pod for five minutes on a node that is not ready or unreachable, unless the pod
 * tolerates these taints itself.
 */
export const defaultTolerationSeconds: AdmissionPlugin = {
  admit({ operation, definition, subresource, object }) {
    if (operation === 'DELETE' || definition.group !== '' || definition.plural !== 'pods' || subresource) return
    const { spec } = object as unknown as Pod
    const tolerations = spec.tolerations ?? []
    const missing = tolerations.length === 0 ? keys : keys.filter((key) => !isTolerated(tolerations, key))
    if (missing.length === 0) return
    const added = missing.map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds }))
    object!.spec = { ...spec, tolerations: [...tolerations, ...added] }
  },
}

const isTolerated = (tolerations: NonNullable<Pod['spec']['tolerations']>, wanted: string): boolean =>
  tolerations.some(({ key, effect }) => (key === wanted || !key) && (effect === 'NoExecute' || !effect))
