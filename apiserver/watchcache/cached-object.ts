import { parseStored } from '../../shared/api/json/exact-json.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import type { ResourceDefinition } from '../kind/resource-definition.ts'
import { storageVersionIn } from '../kind/storage-version.ts'
import { Unconverted } from '../kind/unconverted.ts'
import { lengthOf } from '../storage/packed-text.ts'
import type { Entry } from '../storage/storage.ts'
import { decodeParts } from './decode-parts.ts'
import { VersionedEntry } from './versioned-entry.ts'

/** Holds what selectors look at. */
interface Attributes {
  readonly labels: Readonly<Record<string, string>> | undefined
  /** Holds one value per selectable field, in the definition's order. */
  readonly fields: readonly string[]
}

/**
 * Holds one version of an object: its JSON as stored, and the attributes that selectors read. Immutable; the cache, its
 * history and every list and watch under way share it.
 */
export class CachedObject {
  readonly key: string
  readonly namespace: string
  readonly name: string
  readonly revision: number
  readonly #entry: Entry
  #shown: string | (() => string) | undefined
  readonly #definition: ResourceDefinition
  /** The object could not be converted to the definition's version yet, so its stored JSON is shown. */
  readonly isUnconverted: boolean
  /** The object is unconverted because no webhook was called for it yet. */
  readonly isUnasked: boolean
  #attributes: Attributes | undefined

  /**
   * `shown`: the value in the definition's version, where that is not what is stored; a function makes it when it is
   * first read. `object`: the parsed value, if the caller has it; it is read here and not kept.
   */
  constructor(
    definition: ResourceDefinition,
    { entry, shown, object }: { entry: Entry; shown?: string | Unconverted | (() => string); object?: KubeObject },
  ) {
    const { key, revision } = entry
    this.key = key
    this.revision = revision
    const storedIn = definition.custom && storageVersionIn(entry)
    this.#entry = storedIn === undefined ? entry : new VersionedEntry(entry, storedIn)
    this.isUnconverted = shown instanceof Unconverted
    this.isUnasked = shown instanceof Unconverted && shown.isUnasked
    this.#shown = shown instanceof Unconverted ? undefined : shown
    const end = key.lastIndexOf('/')
    this.name = key.slice(end + 1)
    this.namespace = definition.namespaced ? key.slice(key.lastIndexOf('/', end - 1) + 1, end) : ''
    this.#definition = definition
    if (object) this.#attributes = attributesOf(definition, object)
  }

  /** The JSON, in the form that is stored. */
  get value(): string {
    if (typeof this.#shown === 'function') this.#shown = this.#shown()
    return this.#shown ?? this.#entry.value
  }

  /** The length of the value, which is not joined for it. */
  get length(): number {
    return lengthOf(this)
  }

  /** Returns the parts that the value is joined from, if it is kept in parts. */
  get parts(): readonly string[] | undefined {
    return this.#shown === undefined ? this.#entry.parts : undefined
  }

  /** Version of a custom resource's value; undefined for other kinds. */
  get storedIn(): string | undefined {
    return this.#entry instanceof VersionedEntry ? this.#entry.storedIn : undefined
  }

  /** Returns the entry of the engine, with the version of a custom resource's value. */
  get stored(): Entry {
    return this.#entry instanceof VersionedEntry ? this.#entry.stored : this.#entry
  }

  /** Returns the same object with another text to show. */
  showing(shown: string): CachedObject {
    return new CachedObject(this.#definition, { entry: this.stored, shown })
  }

  get isAsStored(): boolean {
    return this.#shown === undefined && !this.isUnconverted
  }

  get labels(): Readonly<Record<string, string>> | undefined {
    return this.#known().labels
  }

  field(field: string): string {
    if (field === 'metadata.name') return this.name
    if (field === 'metadata.namespace') return this.namespace
    return this.#known().fields[fieldNames(this.#definition).indexOf(field)] ?? ''
  }

  #known(): Attributes {
    this.#attributes ??= attributesOf(this.#definition, this.#decoded())
    return this.#attributes
  }

  /** Parses only what other objects do not have, too: a selector may be the first to look at a million objects. */
  #decoded(): KubeObject {
    const { parts } = this
    return (parts ? decodeParts(parts, true) : parseStored(this.value)) as KubeObject
  }
}

const namesByDefinition = new WeakMap<ResourceDefinition, string[]>()

function fieldNames(definition: ResourceDefinition): string[] {
  const known = namesByDefinition.get(definition)
  if (known) return known
  const names = Object.keys(definition.selectableFields ?? {})
  namesByDefinition.set(definition, names)
  return names
}

const noFields: readonly string[] = []

function attributesOf({ selectableFields }: ResourceDefinition, object: KubeObject): Attributes {
  const fields = selectableFields ? Object.values(selectableFields).map((select) => select(object)) : noFields
  return { labels: object.metadata.labels, fields }
}
