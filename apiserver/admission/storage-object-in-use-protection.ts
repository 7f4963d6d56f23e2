import type { AdmissionPlugin } from '../registry/admission-plugin.ts'

const finalizers: Record<string, string> = {
  persistentvolumeclaims: 'kubernetes.io/pvc-protection',
  persistentvolumes: 'kubernetes.io/pv-protection',
}

/** A volume or a claim stays while it is in use. */
export const storageObjectInUseProtection: AdmissionPlugin = {
  admit({ operation, definition, subresource, object }) {
    if (operation !== 'CREATE' || definition.group !== '' || subresource || !object) return
    const finalizer = Object.hasOwn(finalizers, definition.plural) ? finalizers[definition.plural] : undefined
    if (!finalizer || object.metadata.finalizers?.includes(finalizer)) return
    object.metadata.finalizers = [...(object.metadata.finalizers ?? []), finalizer]
  },
}
