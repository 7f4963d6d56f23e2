import type { JSONSchemaProps } from '../../schema/json-schema.ts'
import { structureOf } from '../../schema/parts.ts'
import { prune } from '../../schema/pruning.ts'
import type { SchemaWork } from '../../schema/schema-work.ts'
import { validateValue } from '../../schema/value-validator.ts'
import { invalid } from '../../validation/field-error.ts'
import type { FieldError } from '../../validation/field-errors.ts'
import { deepEqual } from '../../values/deep-equal.ts'
import { rulesOf } from '../cel/rule-check.ts'

/** Checks that every default is a value that its schema specifies and allows. As upstream, not those below maps. */
export function validateDefaults(schema: JSONSchemaProps, path: string, work: SchemaWork): FieldError[] {
  return [
    ...(schema.default === undefined || work.isSpent ? [] : validateDefault(schema, `${path}.default`, work)),
    ...structureOf(schema).flatMap((part) =>
      part.step === '.additionalProperties' ? [] : validateDefaults(part.schema, path + part.step, work),
    ),
  ]
}

function validateDefault(schema: JSONSchemaProps, path: string, work: SchemaWork): FieldError[] {
  const pruned = structuredClone(schema.default)
  prune(pruned, schema, { root: schema['x-kubernetes-embedded-resource'] === true })
  const unknown = deepEqual(pruned, schema.default)
    ? []
    : [invalid(path, schema.default, 'must not have unknown fields')]
  const errors = [...unknown, ...validateValue(schema.default, schema, { path, work })]
  return errors.length > 0
    ? errors
    : (rulesOf(schema, work.limits.celSteps)?.(schema.default, undefined, schema, path) ?? [])
}
