import type { ResourceDefinition } from '../kind/resource-definition.ts'
import type { Catalog } from './catalog.ts'

export interface ServedResourcesListener {
  onAdd(resource: ResourceDefinition): void
  onRemove?(resource: ResourceDefinition): void
}

/**
 * Lists the catalog for code that treats all kinds alike: each resource once, in one version. Listeners learn when a
 * resource comes or goes.
 */
export class ServedResources {
  readonly #catalog: Catalog
  readonly #listeners = new Set<ServedResourcesListener>()
  #served: Map<string, ResourceDefinition>

  constructor(catalog: Catalog) {
    this.#catalog = catalog
    this.#served = firstVersions(catalog)
    catalog.onChange(() => this.#changed())
  }

  current(): readonly ResourceDefinition[] {
    return [...this.#served.values()]
  }

  /**
   * Calls `onAdd` for every resource that is served now, and then tells the listener of each that comes or goes.
   * Returns a function that ends this.
   */
  follow(listener: ServedResourcesListener): () => void {
    this.#listeners.add(listener)
    for (const resource of this.#served.values()) listener.onAdd(resource)
    return () => void this.#listeners.delete(listener)
  }

  #changed(): void {
    const before = this.#served
    this.#served = firstVersions(this.#catalog)
    for (const [name, old] of before) {
      if (this.#served.get(name)?.version !== old.version)
        for (const listener of this.#listeners) listener.onRemove?.(old)
    }
    for (const [name, resource] of this.#served) {
      if (before.get(name)?.version !== resource.version)
        for (const listener of this.#listeners) listener.onAdd(resource)
    }
  }
}

function firstVersions(catalog: Catalog): Map<string, ResourceDefinition> {
  const found = new Map<string, ResourceDefinition>()
  for (const definition of catalog.definitions()) {
    const name = `${definition.plural}.${definition.group}`
    // If a webhook converts to the other versions, the stored version is available without it.
    const isCheapest = definition.custom?.webhook !== undefined && definition.version === definition.storageVersion
    if (!found.has(name) || isCheapest) found.set(name, definition)
  }
  return found
}
