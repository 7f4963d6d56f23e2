import { forbidden } from '../../shared/api/status-errors.ts'
import type { Pod } from '../../shared/api/types.ts'
import type { AdmissionPlugin } from './admission-plugin.ts'

const MIRROR = 'kubernetes.io/config.mirror'
const PREFIX = 'system:node:'

/** A kubelet creates only pictures of pods that its node runs by itself, and only for that node. */
export const nodeRestriction: AdmissionPlugin = {
  validate({ operation, definition, subresource, object, user }) {
    if (operation !== 'CREATE' || definition.group !== '' || definition.plural !== 'pods' || subresource) return
    if (!user.groups.includes('system:nodes') || !user.name.startsWith(PREFIX)) return
    const node = JSON.stringify(user.name.slice(PREFIX.length))
    const { metadata, spec } = object as unknown as Pod
    const refused = (why: string) => forbidden(definition, metadata.name ?? '', why)
    if (metadata.annotations?.[MIRROR] === undefined) {
      throw refused(`pod does not have ${JSON.stringify(MIRROR)} annotation, node ${node} can only create mirror pods`)
    }
    if (JSON.stringify(spec.nodeName ?? '') !== node) {
      throw refused(`node ${node} can only create pods with spec.nodeName set to itself`)
    }
    if (spec.serviceAccountName) throw refused(`node ${node} can not create pods that reference a service account`)
  },
}
