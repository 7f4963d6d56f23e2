import type { AdmissionPlugin } from './admission-plugin.ts'

const finalizers: Record<string, string> = {
  persistentvolumeclaims: 'kubernetes.io/pvc-protection',
  persistentvolumes: 'kubernetes.io/pv-protection',
}

/** A volume and a claim stay as long as somebody uses them. */
export const storageObjectInUseProtection: AdmissionPlugin = {
  admit({ operation, definition, subresource, object }) {
    if (operation !== 'CREATE' || definition.group !== '' || subresource || !object) return
    const finalizer = Object.hasOwn(finalizers, definition.plural) ? finalizers[definition.plural] : undefined
    if (!finalizer || object.metadata.finalizers?.includes(finalizer)) return
    object.metadata.finalizers = [...(object.metadata.finalizers ?? []), finalizer]
  },
}
