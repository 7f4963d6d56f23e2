import type { KubeObject, ObjectMeta } from '../../shared/api/types.ts'
import { trackFields } from '../kind/field-manager.ts'
import type { Catalog } from '../registry/catalog.ts'
import { objectKey } from '../registry/keys.ts'
import type { Storage } from '../storage/storage.ts'
import { builtInApiServices } from './api-services.ts'
import { flowControl } from './flow-control.ts'
import { ObjectTemplate, unstamped } from './object-template.ts'
import { priorityClasses } from './priority-classes.ts'
import { defaultServiceCidr } from './service-cidr.ts'

/** Templates of the objects by the service range, which is the only thing that a server's options change in them. */
const templates = new Map<string, readonly ObjectTemplate[]>()

/**
 * Stores those that are missing, as they are. It runs before the first watch, with a catalog of the built-in resources.
 */
export async function storeSystemObjects(
  storage: Storage,
  catalog: Catalog,
  { creationTimestamp, serviceCidr }: { creationTimestamp: string; serviceCidr: string },
): Promise<void> {
  const made = templates.get(serviceCidr) ?? makeTemplates(catalog, serviceCidr)
  templates.set(serviceCidr, made)
  await Promise.all(made.map((template) => storage.put(template.put(creationTimestamp))))
}

function makeTemplates(catalog: Catalog, serviceCidr: string): ObjectTemplate[] {
  const { uid, time } = unstamped
  const services = builtInApiServices(catalog.definitions(), time)
  const objects = [...priorityClasses, ...flowControl, defaultServiceCidr(serviceCidr, time), ...services]
  return objects.map(({ group, version, plural, body, manager = 'kube-apiserver', ...given }) => {
    const definition = catalog.find(group, version, plural)
    if (!definition) throw new Error(`nothing serves ${plural}.${group}`)
    const metadata: ObjectMeta = { ...given, uid, creationTimestamp: time }
    if (definition.strategy.generation) metadata.generation = 1
    const object: KubeObject = { metadata, ...body }
    trackFields(definition, undefined, object, { manager, time })
    return new ObjectTemplate(objectKey(definition, undefined, given.name), object)
  })
}
