import { Ajv } from 'ajv'
import type { Options } from './option.ts'
import { schemaOf } from './schema.ts'

/** A value of a config file that breaks the schema of its key. */
export interface SchemaMistake {
  /** The keys and indexes that lead to the value. */
  path: string[]
  /** Says what the value must be, in ajv's words. */
  message: string
}

/**
 * Returns all values that break the schemas of their keys, the outermost of each. Only the keys of `content` are
 * compiled, which takes a few milliseconds; all take a hundred.
 */
export function schemaMistakes(content: Record<string, unknown>, keys: Options): SchemaMistake[] {
  const given = Object.keys(content).filter((key) => Object.hasOwn(keys, key))
  const properties = Object.fromEntries(given.map((key) => [key, schemaOf(keys[key]!.type)]))
  const ajv = new Ajv({
    allErrors: true,
    // A type of options says what is wrong with a pattern of regular expressions.
    formats: { regex: true },
    logger: false,
    meta: false,
    validateSchema: false,
    code: { optimize: false },
  })
  const validate = ajv.compile({ type: 'object', properties })
  validate(content)
  return (validate.errors ?? []).map(({ instancePath, params, message = 'is not valid' }) => ({
    path: [...instancePath.split('/').slice(1).map(unescaped), params.additionalProperty ?? []].flat(),
    message,
  }))
}

/** Decodes a part of a JSON pointer (RFC 6901). */
const unescaped = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~')
