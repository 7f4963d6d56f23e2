import type { ResourceDefinition } from '../kind/resource-definition.ts'

/** Holds all resources that the server knows at the moment; custom resources come and go. */
export class Catalog {
  readonly #byPath = new Map<string, ResourceDefinition>()
  readonly #listeners = new Set<() => void>()
  /**
   * The number rises with each change: results computed from the catalog (discovery, OpenAPI) may be cached until then.
   */
  generation = 1

  constructor(definitions: readonly ResourceDefinition[]) {
    for (const definition of definitions) this.#byPath.set(pathOf(definition), definition)
  }

  find(group: string, version: string, plural: string): ResourceDefinition | undefined {
    return this.#byPath.get(pathOf({ group, version, plural }))
  }

  hasGroup(group: string): boolean {
    return this.definitions().some((definition) => definition.group === group)
  }

  /** Tells built-in groups from groups of custom resources, which refuse unknown paths in another way. */
  hasBuiltInGroup(group: string): boolean {
    return this.definitions().some((definition) => definition.group === group && definition.custom === undefined)
  }

  hasVersion(group: string, version: string): boolean {
    return this.definitions().some((definition) => definition.group === group && definition.version === version)
  }

  /** Returns the other versions of a resource, in any group. */
  readonly siblings = (definition: ResourceDefinition): ResourceDefinition[] => {
    const same = storedAs(definition)
    return this.definitions().filter((other) => other !== definition && storedAs(other) === same)
  }

  definitions(): ResourceDefinition[] {
    return [...this.#byPath.values()]
  }

  /**
   * Adds resources, and replaces resources with the same group, version and plural. Listeners are called once for all
   * of them.
   */
  add(definitions: readonly ResourceDefinition[]): void {
    for (const definition of definitions) this.#byPath.set(pathOf(definition), definition)
    if (definitions.length > 0) this.#changed()
  }

  delete(definitions: readonly ResourceDefinition[]): void {
    const gone = definitions.filter((definition) => this.#byPath.delete(pathOf(definition)))
    if (gone.length > 0) this.#changed()
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener)
  }

  #changed(): void {
    this.generation++
    for (const listener of this.#listeners) listener()
  }
}

const storedAs = ({ group, plural, conversion }: ResourceDefinition): string =>
  `${conversion?.storageGroup ?? group}/${plural}`

const pathOf = ({ group, version, plural }: Pick<ResourceDefinition, 'group' | 'version' | 'plural'>): string =>
  `${group}/${version}/${plural}`
