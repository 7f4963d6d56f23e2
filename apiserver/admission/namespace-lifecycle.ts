import { forbidden, notFound } from '../../shared/api/status/status-errors.ts'
import type { Lookup } from '../kind/lookup.ts'
import type { AdmissionPlugin } from '../registry/admission-plugin.ts'

const namespaces = { group: '', plural: 'namespaces' }
const immortal = new Set(['default', 'kube-system', 'kube-public'])

/**
 * Refuses creates in a namespace that does not exist or is being terminated, and deletes of the system's namespaces.
 */
export function namespaceLifecycle(lookup: Lookup): AdmissionPlugin {
  return {
    asksAll: true,
    admit({ operation, definition, namespace, name }) {
      if (operation === 'DELETE' && definition.group === '' && definition.plural === 'namespaces') {
        if (immortal.has(name)) throw forbidden(namespaces, name, 'this namespace may not be deleted')
      }
      if (operation !== 'CREATE' || namespace === undefined || definition.outlivesNamespace) return
      const found = lookup(namespaces, undefined, namespace)
      if (!found) throw notFound(namespaces, namespace)
      if (!found.metadata.deletionTimestamp) return
      throw forbidden(
        definition,
        name,
        `unable to create new content in namespace ${namespace} because it is being terminated`,
        {
          causes: [
            {
              reason: 'NamespaceTerminating',
              message: `namespace ${namespace} is being terminated`,
              field: 'metadata.namespace',
            },
          ],
        },
      )
    },
  }
}
