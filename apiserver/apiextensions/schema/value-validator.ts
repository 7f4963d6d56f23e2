import { toJson } from '../../../shared/api/exact-json.ts'
import { invalid, notSupported, required, tooLong, tooMany } from '../../validation/field-error.ts'
import type { FieldError } from '../../validation/field-errors.ts'
import { deepEqual } from '../../values/deep-equal.ts'
import { NO_FIELD, typeInvalid } from '../field-error.ts'
import { correlation } from './correlation.ts'
import { isKnownFormat, matchesFormat } from './formats.ts'
import { additionalOf, isObject, itemsOf, type JSONSchemaProps, type JsonObject, ownProperty } from './json-schema.ts'
import { checkNumber } from './number-rules.ts'
import { patternMatches } from './re2.ts'

export interface ValidateOptions {
  /**
   * Path of the value in its object; '' for the object itself. Messages name fields relative to the value, as
   * upstream's do.
   */
  path?: string
  /** What the value was before: parts that did not change are not held against it. */
  old?: unknown
}

/** Holds a value against a schema; errors, classes, order and words are those of upstream's validator. */
export function validateValue(value: unknown, schema: JSONSchemaProps, options: ValidateOptions = {}): FieldError[] {
  const check = new ValueCheck(options.path ?? '')
  return check.run(value, schema, '', options.old).errors
}

/**
 * What a check found. `matches` counts the rules that applied: the branch of an anyOf with the most is the one
 * reported.
 */
interface Outcome {
  errors: FieldError[]
  matches: number
  /** What the errors say of each field, once there are any: each counts once. */
  said?: Map<string, Set<string>>
}
const merge = (into: Outcome, outcome: Outcome): void => {
  for (const error of outcome.errors) addError(into, error)
  into.matches += outcome.matches
}
const addError = (into: Outcome, error: FieldError): void => {
  const key = `${error.type} ${error.field}`
  into.said ??= new Map()
  const details = into.said.get(key)
  if (details?.has(error.detail)) return
  if (details) details.add(error.detail)
  else into.said.set(key, new Set([error.detail]))
  into.errors.push(error)
}

class ValueCheck {
  readonly #path: string
  constructor(path: string) {
    this.#path = path
  }

  run(value: unknown, schema: JSONSchemaProps, name: string, old: unknown): Outcome {
    const outcome: Outcome = { errors: [], matches: 0 }
    if (old !== undefined && deepEqual(value, old)) return outcome
    if (value === undefined) return outcome
    if (value === null) {
      this.#type(null, schema, name, outcome)
      this.#enum(null, schema, name, outcome)
      return outcome
    }
    this.#type(value, schema, name, outcome)
    this.#combinations(value, schema, name, old, outcome)
    if (typeof value === 'string') this.#string(value, schema, name, outcome)
    if (typeof value === 'number' || typeof value === 'bigint') {
      for (const problem of checkNumber(value, schema, name))
        addError(
          outcome,
          problem.plain
            ? invalid(NO_FIELD, '', problem.text)
            : invalid(this.#field(name), problem.value ?? value, problem.text),
        )
      outcome.matches++
    }
    if (Array.isArray(value)) this.#items(value, schema, name, old, outcome)
    this.#enum(value, schema, name, outcome)
    if (isObject(value)) this.#fields(value, schema, name, old, outcome)
    return outcome
  }

  /** Where a field of the value is in its object. */
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
      addError(
        outcome,
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
    if (error !== undefined) addError(outcome, error)
    if (!schema.format || !isKnownFormat(schema.format)) return
    outcome.matches++
    if (!matchesFormat(schema.format, value))
      addError(
        outcome,
        typeInvalid(this.#field(name), value, `${name} in body must be of type ${schema.format}: ${toJson(value)}`),
      )
  }
  #stringError(value: string, schema: JSONSchemaProps, name: string): FieldError | undefined {
    const length = schema.maxLength === undefined && schema.minLength === undefined ? 0 : [...value].length
    if (schema.maxLength !== undefined && length > schema.maxLength) return tooLong(this.#field(name), schema.maxLength)
    if (schema.minLength !== undefined && length < schema.minLength)
      return invalid(this.#field(name), value, `${name} in body should be at least ${schema.minLength} chars long`)
    if (schema.pattern && !patternMatches(schema.pattern, value))
      return invalid(this.#field(name), value, `${name} in body should match '${schema.pattern}'`)
    return undefined
  }

  #items(items: unknown[], schema: JSONSchemaProps, name: string, old: unknown, outcome: Outcome): void {
    outcome.matches++
    const itemSchema = itemsOf(schema)
    if (itemSchema !== undefined) {
      const correlate = correlation(schema, old)
      for (const [index, item] of items.entries())
        merge(outcome, this.run(item, itemSchema, `${name}[${index}]`, correlate(item)))
    }
    if (schema.minItems !== undefined && items.length < schema.minItems)
      addError(
        outcome,
        invalid(this.#field(name), items.length, `${name} in body should have at least ${schema.minItems} items`),
      )
    if (schema.maxItems !== undefined && items.length > schema.maxItems)
      addError(outcome, tooMany(this.#field(name), items.length, schema.maxItems))
  }

  #fields(object: JsonObject, schema: JSONSchemaProps, name: string, old: unknown, outcome: Outcome): void {
    outcome.matches++
    const wrongSize = this.#sizeError(Object.keys(object).length, schema, name)
    if (wrongSize !== undefined) addError(outcome, wrongSize)
    const additional = additionalOf(schema)
    for (const [key, value] of Object.entries(object)) {
      const property = ownProperty(schema.properties, key) ?? additional
      if (property !== undefined)
        merge(
          outcome,
          this.run(
            value,
            property,
            name === '' ? key : `${name}.${key}`,
            isObject(old) && Object.hasOwn(old, key) ? old[key] : undefined,
          ),
        )
    }
    for (const key of schema.required ?? [])
      if (!Object.hasOwn(object, key)) addError(outcome, required(this.#field(`${name}.${key}`)))
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
    if (schema.enum === undefined || schema.enum.length === 0 || isAmong(schema.enum, value)) return
    addError(outcome, { ...notAmong(schema.enum), field: this.#field(name), value })
  }

  #combinations(value: unknown, schema: JSONSchemaProps, name: string, old: unknown, outcome: Outcome): void {
    outcome.matches++
    const run = (branch: JSONSchemaProps): Outcome => this.run(value, branch, name, old)
    const plain = (text: string): void => addError(outcome, invalid(NO_FIELD, '', `${JSON.stringify(name)} ${text}`))
    if (schema.anyOf !== undefined && schema.anyOf.length > 0) {
      const branches = schema.anyOf.map(run)
      if (branches.every(hasErrors)) {
        plain('must validate at least one schema (anyOf)')
        merge(outcome, closest(branches))
      }
    }
    if (schema.oneOf !== undefined && schema.oneOf.length > 0) {
      const branches = schema.oneOf.map(run)
      const valid = branches.filter((branch) => !hasErrors(branch)).length
      if (valid !== 1)
        plain(
          `must validate one and only one schema (oneOf). Found ${valid === 0 ? 'none valid' : `${valid} valid alternatives`}`,
        )
      if (valid === 0) merge(outcome, closest(branches))
    }
    if (schema.allOf !== undefined && schema.allOf.length > 0) {
      const branches = schema.allOf.map(run)
      for (const branch of branches) merge(outcome, branch)
      if (branches.some(hasErrors))
        plain(`must validate all the schemas (allOf)${branches.every(hasErrors) ? '. None validated' : ''}`)
    }
    if (schema.not !== undefined && !hasErrors(run(schema.not))) plain('must not validate the schema (not)')
  }
}

const hasErrors = (outcome: Outcome): boolean => outcome.errors.length > 0
/** The branch that came nearest: the first with the most rules that applied. */
const closest = (branches: Outcome[]): Outcome =>
  branches.reduce((best, branch) => (branch.matches > best.matches ? branch : best))

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
      typeof value === 'number' || typeof value === 'bigint'
        ? found === 'integer'
          ? 'int64'
          : floatWord(schema.format)
        : ''
    if (!textual && !fits && format !== schema.format) return { wanted: schema.format, found: format }
    if (textual && !types.includes('number') && !types.includes('integer')) return undefined
  }
  return fits || types.length === 0 ? undefined : { wanted, found }
}

/** What a number that is no integer is called, beside the format that it should have. */
const floatWord = (format: string): string => (/^int(32|64)$/.test(format) ? 'float64' : 'double')

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

function equalsConverted(value: number, other: unknown): boolean {
  if (typeof other === 'string')
    return Number.isInteger(value) && value >= 0 && value <= 0x10ffff && String.fromCodePoint(value) === other
  return value === other || (Number.isInteger(other) && Math.trunc(value) === other)
}
