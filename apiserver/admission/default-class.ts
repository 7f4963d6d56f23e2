import type { KubeObject } from '../../shared/api/types.ts'
import type { LookupAll } from '../kind/lookup.ts'
import type { AdmissionPlugin } from '../registry/admission-plugin.ts'

interface DefaultClass {
  /** The resource whose objects get it. */
  of: { group: string; plural: string }
  classes: { group: string; plural: string }
  /** Each of these annotations makes a class the default one. */
  marks: readonly string[]
  field: string
  /** On an object: its class, as it was said once. */
  annotation: string
}

const storage: DefaultClass = {
  of: { group: '', plural: 'persistentvolumeclaims' },
  classes: { group: 'storage.k8s.io', plural: 'storageclasses' },
  marks: ['storageclass.kubernetes.io/is-default-class', 'storageclass.beta.kubernetes.io/is-default-class'],
  field: 'storageClassName',
  annotation: 'volume.beta.kubernetes.io/storage-class',
}

const ingress: DefaultClass = {
  of: { group: 'networking.k8s.io', plural: 'ingresses' },
  classes: { group: 'networking.k8s.io', plural: 'ingressclasses' },
  marks: ['ingressclass.kubernetes.io/is-default-class'],
  field: 'ingressClassName',
  annotation: 'kubernetes.io/ingress.class',
}

/** A claim without a class gets the default one. Upstream: plugin/pkg/admission/storage/storageclass/setdefault. */
export const defaultStorageClass = (lookupAll: LookupAll): AdmissionPlugin => defaultClass(storage, lookupAll)

/** An ingress without a class gets the default one. Upstream: plugin/pkg/admission/network/defaultingressclass. */
export const defaultIngressClass = (lookupAll: LookupAll): AdmissionPlugin => defaultClass(ingress, lookupAll)

function defaultClass({ of, classes, marks, field, annotation }: DefaultClass, lookupAll: LookupAll): AdmissionPlugin {
  return {
    admit({ operation, definition, subresource, object }) {
      if (operation !== 'CREATE' || subresource || !object) return
      if (definition.group !== of.group || definition.plural !== of.plural) return
      const spec = (object.spec ?? {}) as Record<string, unknown>
      if (spec[field] !== undefined || object.metadata.annotations?.[annotation] !== undefined) return
      const defaults = [...lookupAll(classes)].filter(({ metadata }) =>
        marks.some((mark) => metadata.annotations?.[mark] === 'true'),
      )
      const chosen = newest(defaults)
      if (!chosen) return
      object.spec = { ...spec, [field]: chosen.metadata.name }
    },
  }
}

/** Returns the newest; of those made in one second, the first by name. */
const newest = (objects: KubeObject[]): KubeObject | undefined =>
  objects.sort(
    (a, b) =>
      Date.parse(b.metadata.creationTimestamp ?? '') - Date.parse(a.metadata.creationTimestamp ?? '') ||
      ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1),
  )[0]
