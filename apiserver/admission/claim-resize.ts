import { compareQuantities } from '../../shared/api/quantities/quantity.ts'
import { forbidden } from '../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import type { Lookup } from '../kind/lookup.ts'
import type { AdmissionPlugin } from '../registry/admission-plugin.ts'

interface Claim extends KubeObject {
  spec?: { storageClassName?: string; resources?: { requests?: Record<string, string> } }
  status?: { phase?: string }
}

const storageOf = ({ spec }: Claim): string => spec?.resources?.requests?.storage ?? '0'
const classOf = ({ spec, metadata }: Claim): string =>
  metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? spec?.storageClassName ?? ''

/**
 * A claim grows only once it is bound, and where its class allows that. Upstream:
 * plugin/pkg/admission/storage/persistentvolume/resize.
 */
export function claimResize(lookup: Lookup): AdmissionPlugin {
  return {
    validate({ operation, definition, subresource, object, old }) {
      if (operation !== 'UPDATE' || definition.group !== '' || subresource) return
      if (definition.plural !== 'persistentvolumeclaims') return
      const [claim, before] = [object as Claim, old as Claim]
      if (compareQuantities(storageOf(claim), storageOf(before)) <= 0) return
      const refuse = (why: string) => forbidden(definition, claim.metadata.name ?? '', why)
      if (before.status?.phase !== 'Bound') throw refuse('Only bound persistent volume claims can be expanded')
      const name = classOf(claim)
      const found = name ? lookup({ group: 'storage.k8s.io', plural: 'storageclasses' }, undefined, name) : undefined
      if (name === classOf(before) && found?.allowVolumeExpansion === true) return
      throw refuse(
        'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
      )
    },
  }
}
