import { toJson } from '../../shared/api/json/exact-json.ts'
import { invalid, notSupported, required, tooLong, tooMany } from '../validation/field-error.ts'
import type { FieldError } from '../validation/field-errors.ts'
import { deepEqual } from '../values/deep-equal.ts'
import { correlation } from './correlation.ts'
import { NO_FIELD, typeInvalid } from './field-error.ts'
import { isKnownFormat, matchesFormat } from './formats.ts'
import { additionalOf, isObject, itemsOf, type JSONSchemaProps, type JsonObject, ownProperty } from './json-schema.ts'
import { checkNumber } from './number-rules.ts'
import { patternMatches } from './re2.ts'
import { type SchemaWork, stepsPerError } from './schema-work.ts'

export interface ValidateOptions {
  /**
   * Holds the path of the value in its object; '' for the object itself. Messages name fields relative to the value, as
   * upstream's do.
   */
  path?: string
  /** Holds the old value. Parts that did not change are not checked again. */
  old?: unknown
  /** Holds the budget of the whole request. */
  work: SchemaWork
}

/** Holds a value against a schema; errors, classes, order and words are those of upstream's validator. */
export function validateValue(
  value: unknown,
  schema: JSONSchemaProps,
  { path = '', old, work }: ValidateOptions,
): FieldError[] {
  const check = new ValueCheck(path, work)
  const outcome = new Outcome(work, stepsPerError)
  const isOver = work.endsIn(() => check.run({ value, schema, name: '', old, depth: 0 }, outcome))
  return isOver ? [...outcome.errors, work.error(path)] : outcome.errors
}

class Outcome {
  readonly errors: FieldError[] = []
  /** Counts the rules that applied: the branch of an anyOf with the most is the one reported. */
  matches = 0
  readonly #work: SchemaWork
  readonly #stepsPerError: number
  /** Holds what was said of each field, so that each error counts once; absent until there is one. */
  #said: Map<string, Set<string>> | undefined

  constructor(work: SchemaWork, stepsPerError = 1) {
    this.#work = work
    this.#stepsPerError = stepsPerError
  }

  get isValid(): boolean {
    return this.errors.length === 0
  }

  add(error: FieldError): void {
    this.#work.spend(this.#stepsPerError)
    const key = `${error.type} ${error.field}`
    this.#said ??= new Map()
    const details = this.#said.get(key)
    if (details?.has(error.detail)) return
    if (details) details.add(error.detail)
    else this.#said.set(key, new Set([error.detail]))
    this.errors.push(error)
  }

  merge(outcome: Outcome): void {
    for (const error of outcome.errors) this.add(error)
    this.matches += outcome.matches
  }
}

/** A value, or a part of it, and what it has to be. */
interface Asked {
  value: unknown
  schema: JSONSchemaProps
  name: string
  old: unknown
  /** Counts the values around it. */
  depth: number
}

/** A value is compared with what it was before, with all that is in it: deeper than this, that counts as work. */
const comparedFree = 16

class ValueCheck {
  readonly #path: string
  readonly #work: SchemaWork

  constructor(path: string, work: SchemaWork) {
    this.#path = path
    this.#work = work
  }

  run(asked: Asked, outcome: Outcome): void {
    const { value, old, depth } = asked
    if (old !== undefined) {
      if (depth > comparedFree) this.#work.spendNodes(value)
      if (deepEqual(value, old)) return
    }
    this.#check(asked, outcome)
  }

  /** A value that is not as it was before. */
  #check(asked: Asked, outcome: Outcome): void {
    const { value, schema, name } = asked
    this.#work.spend(1)
    if (value === undefined) return
    if (value === null) {
      this.#type(null, schema, name, outcome)
      this.#enum(null, schema, name, outcome)
      return
    }
    this.#type(value, schema, name, outcome)
    this.#combinations(asked, outcome)
    if (typeof value === 'string') this.#string(value, schema, name, outcome)
    if (typeof value === 'number' || typeof value === 'bigint') {
      for (const problem of checkNumber(value, schema, name))
        outcome.add(
          problem.plain
            ? invalid(this.#path || NO_FIELD, '', problem.text)
            : invalid(this.#field(name), problem.value ?? value, problem.text),
        )
      outcome.matches++
    }
    if (Array.isArray(value)) this.#items(value, asked, outcome)
    this.#enum(value, schema, name, outcome)
    if (isObject(value)) this.#fields(value, asked, outcome)
  }

  #field(name: string): string {
    const relative = name.startsWith('.') ? name.slice(1) : name
    if (relative === '') return this.#path || NO_FIELD
    return this.#path === '' ? relative : `${this.#path}.${relative}`
  }

  #type(value: unknown, schema: JSONSchemaProps, name: string, outcome: Outcome): void {
    const types = typesOf(schema)
    if (types.length === 0 && !schema.format) return
    outcome.matches++
    const wrong = wrongType(value, schema, types)
    if (wrong !== undefined)
      outcome.add(
        typeInvalid(
          this.#field(name),
          wrong.found,
          `${name} in body must be of type ${wrong.wanted}: ${JSON.stringify(wrong.found)}`,
        ),
      )
  }

  #string(value: string, schema: JSONSchemaProps, name: string, outcome: Outcome): void {
    outcome.matches++
    const error = this.#stringError(value, schema, name)
    if (error !== undefined) outcome.add(error)
    if (!schema.format || !isKnownFormat(schema.format)) return
    outcome.matches++
    if (!matchesFormat(schema.format, value))
      outcome.add(
        typeInvalid(this.#field(name), value, `${name} in body must be of type ${schema.format}: ${toJson(value)}`),
      )
  }
  #stringError(value: string, schema: JSONSchemaProps, name: string): FieldError | undefined {
    const length = schema.maxLength === undefined && schema.minLength === undefined ? 0 : [...value].length
    if (schema.maxLength !== undefined && length > schema.maxLength) return tooLong(this.#field(name), schema.maxLength)
    if (schema.minLength !== undefined && length < schema.minLength)
      return invalid(this.#field(name), value, `${name} in body should be at least ${schema.minLength} chars long`)
    if (schema.pattern) this.#work.spendMatch(schema.pattern, value)
    if (schema.pattern && !patternMatches(schema.pattern, value))
      return invalid(this.#field(name), value, `${name} in body should match '${schema.pattern}'`)
    return undefined
  }

  #items(items: unknown[], { schema, name, old, depth }: Asked, outcome: Outcome): void {
    outcome.matches++
    const itemSchema = itemsOf(schema)
    if (itemSchema !== undefined) {
      const correlate = correlation(schema, old, this.#work)
      for (const [index, value] of items.entries()) {
        const item = { value, schema: itemSchema, name: `${name}[${index}]`, old: correlate(value), depth: depth + 1 }
        this.run(item, outcome)
      }
    }
    if (schema.minItems !== undefined && items.length < schema.minItems)
      outcome.add(
        invalid(this.#field(name), items.length, `${name} in body should have at least ${schema.minItems} items`),
      )
    if (schema.maxItems !== undefined && items.length > schema.maxItems)
      outcome.add(tooMany(this.#field(name), items.length, schema.maxItems))
  }

  #fields(object: JsonObject, { schema, name, old, depth }: Asked, outcome: Outcome): void {
    outcome.matches++
    const wrongSize = this.#sizeError(Object.keys(object).length, schema, name)
    if (wrongSize !== undefined) outcome.add(wrongSize)
    const additional = additionalOf(schema)
    for (const [key, value] of Object.entries(object)) {
      const property = ownProperty(schema.properties, key) ?? additional
      if (property !== undefined)
        this.run(
          {
            value,
            schema: property,
            name: name === '' ? key : `${name}.${key}`,
            old: isObject(old) && Object.hasOwn(old, key) ? old[key] : undefined,
            depth: depth + 1,
          },
          outcome,
        )
    }
    this.#work.spend(schema.required?.length ?? 0)
    for (const key of schema.required ?? [])
      if (!Object.hasOwn(object, key)) outcome.add(required(this.#field(`${name}.${key}`)))
  }

  #sizeError(size: number, schema: JSONSchemaProps, name: string): FieldError | undefined {
    if (schema.minProperties !== undefined && size < schema.minProperties)
      return invalid(this.#field(name), size, `${name} in body should have at least ${schema.minProperties} properties`)
    if (schema.maxProperties !== undefined && size > schema.maxProperties)
      return tooMany(this.#field(name), size, schema.maxProperties)
    return undefined
  }

  #enum(value: unknown, schema: JSONSchemaProps, name: string, outcome: Outcome): void {
    outcome.matches++
    if (schema.enum === undefined || schema.enum.length === 0) return
    if (!isLookedUp(value)) this.#work.spend(schema.enum.length)
    if (isAmong(schema.enum, value)) return
    outcome.add({ ...notAmong(schema.enum), field: this.#field(name), value })
  }

  #combinations(asked: Asked, outcome: Outcome): void {
    outcome.matches++
    const { anyOf, oneOf, allOf, not } = asked.schema
    const plain = (text: string): void =>
      outcome.add(invalid(this.#path || NO_FIELD, '', `${JSON.stringify(asked.name)} ${text}`))
    if (anyOf !== undefined && anyOf.length > 0) {
      const { valid, closest } = this.#branches(asked, anyOf, 1)
      if (valid === 0) {
        plain('must validate at least one schema (anyOf)')
        outcome.merge(closest!)
      }
    }
    if (oneOf !== undefined && oneOf.length > 0) {
      const { valid, closest } = this.#branches(asked, oneOf)
      if (valid !== 1)
        plain(
          `must validate one and only one schema (oneOf). Found ${valid === 0 ? 'none valid' : `${valid} valid alternatives`}`,
        )
      if (valid === 0) outcome.merge(closest!)
    }
    if (allOf !== undefined && allOf.length > 0) {
      let valid = 0
      for (const schema of allOf) {
        const branch = this.#branch(asked, schema)
        outcome.merge(branch)
        if (branch.isValid) valid++
      }
      if (valid < allOf.length) plain(`must validate all the schemas (allOf)${valid === 0 ? '. None validated' : ''}`)
    }
    if (not !== undefined && this.#branch(asked, not).isValid) plain('must not validate the schema (not)')
  }

  #branch(asked: Asked, schema: JSONSchemaProps): Outcome {
    const outcome = new Outcome(this.#work)
    this.#check({ ...asked, schema }, outcome)
    return outcome
  }

  /**
   * Counts the branches that allow the value, up to `enough`, and finds the nearest one: the first with the most rules
   * that applied. What the others found is not kept.
   */
  #branches(asked: Asked, schemas: JSONSchemaProps[], enough = schemas.length): { valid: number; closest?: Outcome } {
    let valid = 0
    let closest: Outcome | undefined
    for (const schema of schemas) {
      const branch = this.#branch(asked, schema)
      if (branch.isValid) valid++
      if (valid === enough) break
      if (closest === undefined || branch.matches > closest.matches) closest = branch
    }
    return { valid, closest }
  }
}

/** `x-kubernetes-int-or-string` stands for two types. */
const typesOf = (schema: JSONSchemaProps): string[] =>
  schema['x-kubernetes-int-or-string'] === true ? ['integer', 'string'] : schema.type ? [schema.type] : []

function wrongType(
  value: unknown,
  schema: JSONSchemaProps,
  types: string[],
): { wanted: string; found: string } | undefined {
  const wanted = types.join(',')
  if (value === null) return types.length > 0 && schema.nullable !== true ? { wanted, found: 'null' } : undefined
  const found = jsonType(value)
  const fits = types.includes(found) || (found === 'integer' && types.includes('number'))
  const textual = typeof value === 'string' || Array.isArray(value)
  if (schema.format) {
    const format =
      typeof value === 'number' || typeof value === 'bigint' ? (found === 'integer' ? 'int64' : 'float64') : ''
    if (!textual && !fits && format !== schema.format) return { wanted: schema.format, found: format }
    if (textual && !types.includes('number') && !types.includes('integer')) return undefined
  }
  return fits || types.length === 0 ? undefined : { wanted, found }
}

/** A float of that size counts as no integer; an integer of that size is a BigInt. */
function jsonType(value: unknown): string {
  if (typeof value === 'bigint') return 'integer'
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'integer' : 'number'
  return Array.isArray(value) ? 'array' : typeof value
}

const refusals = new WeakMap<readonly unknown[], FieldError>()

/** The error of a value that is none of these, printed once for all values. */
function notAmong(allowed: readonly unknown[]): FieldError {
  let error = refusals.get(allowed)
  if (!error) {
    const texts = allowed.map((one) => (typeof one === 'string' ? one : toJson(one)))
    error = notSupported('', undefined, texts)
    refusals.set(allowed, error)
  }
  return error
}

const sets = new WeakMap<readonly unknown[], Set<unknown>>()

/**
 * A list of many items may be checked against many values: texts and numbers are looked up. As upstream's validator,
 * which converts a number to the type of the value that it compares with, and finds null nowhere.
 */
function isAmong(allowed: readonly unknown[], value: unknown): boolean {
  if (value === null) return false
  if (typeof value === 'object') return allowed.some((other) => deepEqual(other, value))
  if (typeof value === 'number') return allowed.some((other) => equalsConverted(value, other))
  let set = sets.get(allowed)
  if (!set) {
    set = new Set(allowed)
    sets.set(allowed, set)
  }
  return set.has(value)
}

/** Any other value is compared with each that is allowed. */
const isLookedUp = (value: unknown): boolean => typeof value !== 'object' && typeof value !== 'number'

function equalsConverted(value: number, other: unknown): boolean {
  if (typeof other === 'string')
    return Number.isInteger(value) && value >= 0 && value <= 0x10ffff && String.fromCodePoint(value) === other
  return value === other || (Number.isInteger(other) && Math.trunc(value) === other)
}
