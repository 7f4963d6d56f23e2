/**
 * Holds what structured merge must know of a type: which lists have keys, which values are owned as a whole, and what
 * Go's zero value of the type holds (a field that is there before a manager sets it has no owner). Compiled once per
 * type from the OpenAPI schemas.
 */
import { type OpenApiSchema, referredSchema } from '../../../openapi/schemas.ts'

export type Scalar = 'string' | 'numeric' | 'boolean' | 'untyped'

/** A value is one of the forms named; only values of unknown shape have more than one. */
export interface Type {
  scalar?: Scalar
  list?: ListType
  map?: MapType
}
export interface ListType {
  /** Owned and replaced as a whole. */
  atomic: boolean
  /** Names of the keys of an associative list, sorted; a set has none. */
  keys: string[]
  element: Type
}
export interface MapType {
  atomic: boolean
  fields: Map<string, Field>
  /** Type of the values of other keys; without it such keys are unknown fields. */
  element?: Type
}
export interface Field {
  /** Holds the name in field sets: `f:` and the field's name. */
  element: string
  type: Type
  /** The schema's default, which stands in for an absent list key. */
  default?: unknown
  /** Present even in Go's zero value of the parent: null, {} or an empty scalar; undefined when it is left out. */
  zero?: unknown
}

/** Offers the schemas of types. */
export interface SchemaSource {
  schema(name: string): OpenApiSchema | undefined
  /** Value of a field in Go's zero value of the type; undefined when it is left out. */
  zeroValue(type: string, field: string): unknown
}

const atomicDeduced: Type = { scalar: 'untyped' }
atomicDeduced.list = { atomic: true, keys: [], element: atomicDeduced }
atomicDeduced.map = { atomic: true, fields: new Map(), element: atomicDeduced }
/** Values of unknown shape have this type: maps merge, lists are atomic. */
export const deduced: Type = { scalar: 'untyped', list: { atomic: true, keys: [], element: atomicDeduced } }
deduced.map = { atomic: false, fields: new Map(), element: deduced }

/** Data that only its reader knows is owned as a whole. */
const rawExtension = 'io.k8s.apimachinery.pkg.runtime.RawExtension'
const quantity = 'io.k8s.apimachinery.pkg.api.resource.Quantity'

const scalars: Record<string, Scalar> = { integer: 'numeric', number: 'numeric', boolean: 'boolean' }

export class TypeCompiler {
  readonly #source: SchemaSource
  readonly #named = new Map<string, Type>()
  constructor(source: SchemaSource) {
    this.#source = source
  }

  /** A type by its OpenAPI name; one without a schema is of unknown shape. */
  named(name: string): Type {
    const known = this.#named.get(name)
    if (known) return known
    const type: Type = {} // types refer to themselves: known by name before it is filled
    this.#named.set(name, type)
    const schema = this.#source.schema(name)
    if (name === rawExtension) return Object.assign(type, atomicDeduced)
    return Object.assign(type, schema ? this.compile(schema, name) : deduced)
  }

  /** `preserves`: a schema around this one lets objects within it have fields that no schema names. */
  compile(schema: OpenApiSchema, name = '', preserves = false): Type {
    const reference = referredSchema(schema)
    if (reference) return this.#override(this.named(reference), schema)
    // Other values of several types, such as a number or text, have no type in a real server's schema.
    if (name === quantity) return { scalar: 'untyped' }
    switch (schema.type) {
      case 'object':
        return { map: this.#map(schema, name, preserves) }
      case 'array':
        return { list: this.#list(schema, preserves) }
      case 'string':
        return { scalar: !schema.format || schema.format === 'byte' ? 'string' : 'untyped' }
      case undefined:
        return deduced
      default:
        return { scalar: scalars[schema.type] ?? 'untyped' }
    }
  }

  #map(schema: OpenApiSchema, name: string, inherited: boolean): MapType {
    const preserves = inherited || schema['x-kubernetes-preserve-unknown-fields'] === true
    const fields = new Map<string, Field>()
    for (const [key, property] of Object.entries(schema.properties ?? {})) {
      fields.set(key, {
        element: `f:${key}`,
        type: this.compile(property, '', preserves),
        default: property.default,
        zero: this.#source.zeroValue(name, key),
      })
    }
    const map: MapType = { atomic: schema['x-kubernetes-map-type'] === 'atomic', fields }
    const { additionalProperties } = schema
    if (additionalProperties && typeof additionalProperties === 'object')
      map.element = this.compile(additionalProperties, '', preserves)
    else if (!schema.properties || preserves) map.element = deduced
    return map
  }

  #list(schema: OpenApiSchema, inherited: boolean): ListType {
    const preserves = inherited || schema['x-kubernetes-preserve-unknown-fields'] === true
    const relation = schema['x-kubernetes-list-type']
    return {
      atomic: relation !== 'map' && relation !== 'set',
      keys: relation === 'map' ? [...(schema['x-kubernetes-list-map-keys'] ?? [])].sort() : [],
      element: this.compile(schema.items ?? {}, '', preserves),
    }
  }

  /** Markers beside a reference win over those of the type referred to. */
  #override(type: Type, schema: OpenApiSchema): Type {
    const relation = schema['x-kubernetes-map-type']
    return relation && type.map ? { map: { ...type.map, atomic: relation === 'atomic' } } : type
  }
}
