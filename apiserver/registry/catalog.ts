import type { ResourceDefinition } from '../kind/resource-definition.ts'

/** All resources that the server knows at the moment; custom ones come and go. */
export class Catalog {
  readonly #byPath = new Map<string, ResourceDefinition>()
  readonly #listeners = new Set<() => void>()
  /** Rises with each change: what is derived from the catalog (discovery, OpenAPI) may be cached until then. */
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

  /** Groups of custom resources refuse unknown paths otherwise. */
  hasBuiltInGroup(group: string): boolean {
    return this.definitions().some((definition) => definition.group === group && definition.custom === undefined)
  }

  hasVersion(group: string, version: string): boolean {
    return this.definitions().some((definition) => definition.group === group && definition.version === version)
  }

  /** The other versions of a resource, whatever group they are in. */
  readonly siblings = (definition: ResourceDefinition): ResourceDefinition[] => {
    const same = storedAs(definition)
    return this.definitions().filter((other) => other !== definition && storedAs(other) === same)
  }

  definitions(): ResourceDefinition[] {
    return [...this.#byPath.values()]
  }

  /** Adds resources, or replaces those of the same group, version and plural: one change, however many they are. */
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
