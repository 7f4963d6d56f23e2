import { randomUUID } from 'node:crypto'
import type { KubeObject, ObjectMeta } from '../../shared/api/types.ts'
import { encodeObject } from '../kind/encode-object.ts'
import { trackFields } from '../kind/field-manager.ts'
import type { Catalog } from '../registry/catalog.ts'
import { objectKey } from '../registry/keys.ts'
import type { Storage } from '../storage/storage.ts'
import { builtInApiServices } from './api-services.ts'
import { flowControl } from './flow-control.ts'
import { priorityClasses } from './priority-classes.ts'
import { defaultServiceCidr } from './service-cidr.ts'
import type { SystemObject } from './system-object.ts'

/** Stores those that are missing, as they are. It runs before the first watch. */
export async function storeSystemObjects(
  storage: Storage,
  catalog: Catalog,
  { creationTimestamp, serviceCidr }: { creationTimestamp: string; serviceCidr: string },
): Promise<void> {
  const ready = defaultServiceCidr(serviceCidr, creationTimestamp)
  const services = builtInApiServices(catalog.definitions(), creationTimestamp)
  const objects: readonly SystemObject[] = [...priorityClasses, ...flowControl, ready, ...services]
  await Promise.all(
    objects.map(({ group, version, plural, name, body, labels, annotations, finalizers }) => {
      const definition = catalog.find(group, version, plural)
      if (!definition) throw new Error(`nothing serves ${plural}.${group}`)
      const metadata: ObjectMeta = { name, uid: randomUUID(), creationTimestamp, labels, annotations, finalizers }
      if (definition.strategy.generation) metadata.generation = 1
      const object: KubeObject = { metadata, ...body }
      trackFields(definition, undefined, object, { manager: 'kube-apiserver', time: creationTimestamp })
      return storage.put({ key: objectKey(definition, undefined, name), value: encodeObject(object), expect: 'absent' })
    }),
  )
}
