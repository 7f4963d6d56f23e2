import type { RequestInfo } from '../http/request-info.ts'
import type { Catalog } from '../registry/index.ts'
import type { Storage } from '../storage/engine.ts'

/** Paths that show or use objects. Others, health checks among them, answer without the storage. */
const roots = new Set(['api', 'apis', 'openapi', 'kubestage'])

/** Says when this server has taken in the definition of this name, or all of them. */
export interface CurrentDefinitions {
  current(name?: string): Promise<void> | undefined
}

export interface FreshnessOptions {
  storage: Required<Pick<Storage, 'catchUp' | 'revision'>>
  catalog: Catalog
  customResources: CurrentDefinitions
}

/**
 * Where other servers write as well: waits until this one knows what any of them has acknowledged before the request,
 * so that the user, the roles, admission and the objects are those of the moment. A request that names a
 * resourceVersion that is known here takes them as they are here. Throws StorageUnavailableError.
 */
export const freshness =
  ({ storage, catalog, customResources }: FreshnessOptions) =>
  async (info: RequestInfo): Promise<void> => {
    if (!roots.has(info.path.split('/', 2)[1] ?? '')) return
    if (wantsMore(info, storage.revision())) await storage.catchUp()
    if (mayBeCustom(catalog, info)) await customResources.current(nameOf(info))
  }

/** A resourceVersion that is not known here may be that of another server. */
function wantsMore({ query }: RequestInfo, revision: number): boolean {
  const known = query.get('resourceVersion')
  return !known || Number(known) > revision
}

function mayBeCustom(catalog: Catalog, { target }: RequestInfo): boolean {
  const definition = target && catalog.find(target.group, target.version, target.resource)
  return !definition || definition.custom !== undefined
}

/** Returns the name of the definition; undefined where the path shows all of them. */
const nameOf = ({ target }: RequestInfo): string | undefined => target && `${target.resource}.${target.group}`
