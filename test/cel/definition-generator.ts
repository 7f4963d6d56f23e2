/** Random CustomResourceDefinitions: schemas with and without bounds, with random rules where rules may stand. */

import { parse } from '../../apiserver/cel/parser.ts'
import {
  BOOL,
  BYTES,
  type CelType,
  DOUBLE,
  DURATION,
  INT,
  listOf,
  mapOf,
  STRING,
  TIMESTAMP,
} from '../../apiserver/cel/types.ts'
import type { JSONSchemaProps } from '../../apiserver/schema/json-schema.ts'
import type { Random } from '../fuzz/random.ts'
import { ProgramGenerator, type Variable } from './program-generator.ts'

const SIZES = [0, 1, 5, 10, 20, 50, 64, 100, 253, 1_000, 5_000, 65_536, 1_000_000]
interface Field {
  schema: JSONSchemaProps
  /** undefined: an object. */
  type: CelType | undefined
}

export const randomSchema = (random: Random): JSONSchemaProps => new SchemaGenerator(random).root()

/** A definition of one version with that schema. */
export const definitionOf = (schema: JSONSchemaProps): object => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'costs.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'costs', singular: 'cost', kind: 'Cost', listKind: 'CostList' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
  },
})

class SchemaGenerator {
  readonly #random: Random
  readonly #bounded: number
  #rules = 0

  constructor(random: Random) {
    this.#random = random
    this.#bounded = random.pick([0, 0.5, 0.8, 0.95, 1])
  }

  root(): JSONSchemaProps {
    const { schema } = this.#object(3)
    if (this.#rules === 0) schema['x-kubernetes-validations'] = this.#rulesFor(schema, undefined)
    return schema
  }

  #bound(): number | undefined {
    return this.#random.chance(this.#bounded) ? this.#random.pick(SIZES) : undefined
  }
  #with(schema: JSONSchemaProps, bounds: Partial<JSONSchemaProps>): JSONSchemaProps {
    for (const [key, value] of Object.entries(bounds)) if (value !== undefined) Object.assign(schema, { [key]: value })
    return schema
  }

  #string(): Field {
    const random = this.#random
    const format = random.pick([undefined, undefined, undefined, 'byte', 'date-time', 'date', 'duration', 'email'])
    const values = random.chance(0.1) && format === undefined ? ['Always', 'IfNotPresent', 'é'] : undefined
    const maxLength = format === 'date-time' || format === 'date' || format === 'duration' ? undefined : this.#bound()
    const types: Record<string, CelType> = { byte: BYTES, 'date-time': TIMESTAMP, date: TIMESTAMP, duration: DURATION }
    const schema = this.#with({ type: 'string' }, { format, maxLength, enum: values })
    return { schema, type: types[format ?? ''] ?? STRING }
  }

  #field(depth: number): Field {
    const random = this.#random
    if (depth <= 0 || random.chance(0.5)) {
      if (random.chance(0.6)) return this.#string()
      return random.pick([
        { schema: { type: 'integer' }, type: INT },
        { schema: { type: 'number' }, type: DOUBLE },
        { schema: { type: 'boolean' }, type: BOOL },
      ])
    }
    if (random.chance(0.2)) return this.#object(depth)
    const inner = this.#field(depth - 1)
    const field: Field = random.chance(0.7)
      ? {
          schema: this.#with({ type: 'array', items: inner.schema }, { maxItems: this.#bound() }),
          type: inner.type && listOf(inner.type),
        }
      : {
          schema: this.#with({ type: 'object', additionalProperties: inner.schema }, { maxProperties: this.#bound() }),
          type: inner.type && mapOf(STRING, inner.type),
        }
    if (field.type !== undefined) this.#maybeRules(field.schema, field.type)
    return field
  }

  #object(depth: number): Field {
    const properties: Record<string, JSONSchemaProps> = {}
    const names = ['a', 'bb', 'c-c', 'spec', 'metaData'].slice(0, 1 + this.#random.below(5))
    for (const name of names) properties[name] = this.#field(depth - 1).schema
    const required = names.filter(() => this.#random.chance(0.3))
    const schema: JSONSchemaProps = { type: 'object', properties, ...(required.length > 0 && { required }) }
    this.#maybeRules(schema, undefined)
    return { schema, type: undefined }
  }

  #maybeRules(schema: JSONSchemaProps, type: CelType | undefined): void {
    if (this.#random.chance(0.4)) schema['x-kubernetes-validations'] = this.#rulesFor(schema, type)
  }

  #rulesFor(schema: JSONSchemaProps, type: CelType | undefined): { rule: string }[] {
    this.#rules++
    const variables = variablesOf(schema, type)
    const count = 1 + this.#random.below(this.#random.chance(0.1) ? 12 : 2)
    return Array.from({ length: count }, () => {
      const rule = this.#expression(variables, BOOL)
      return this.#random.chance(0.15) ? { rule, messageExpression: this.#expression(variables, STRING) } : { rule }
    })
  }
  #expression(variables: readonly Variable[], type: CelType): string {
    for (let attempt = 0; attempt < 20; attempt++) {
      const text = new ProgramGenerator(this.#random, variables).expression(type, 1 + this.#random.below(3))
      if (text.includes('self') && 'expr' in parse(text)) return text
    }
    return type === BOOL ? 'self == self' : "'x'"
  }
}

function variablesOf(schema: JSONSchemaProps, type: CelType | undefined): Variable[] {
  if (type !== undefined) return [{ text: 'self', type }]
  return Object.entries(schema.properties ?? {}).flatMap(([key, property]) => {
    const name = key.replaceAll('-', '__dash__')
    const found = typeOf(property)
    if (found === undefined) return []
    const plain = { text: `self.${name}`, type: found }
    return key === 'a' && found === STRING ? [plain, { text: `self.?${name}.orValue('')`, type: STRING }] : [plain]
  })
}
function typeOf({ type, format, items, additionalProperties }: JSONSchemaProps): CelType | undefined {
  const inner = (items ?? additionalProperties) as JSONSchemaProps | undefined
  const below = inner && typeOf(inner)
  if (type === 'array') return below && listOf(below)
  if (type === 'object') return below && mapOf(STRING, below)
  if (type === 'string')
    return { byte: BYTES, 'date-time': TIMESTAMP, date: TIMESTAMP, duration: DURATION }[format ?? ''] ?? STRING
  return { integer: INT, number: DOUBLE, boolean: BOOL }[type ?? '']
}
