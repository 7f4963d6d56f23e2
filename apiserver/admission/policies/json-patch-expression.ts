/** Upstream: plugin/policy/mutating/patch/json_patch.go. */
import { MadeObject } from '../../cel/values.ts'
import { applyJsonPatch, JsonPatchError, type JsonPatchOperation, JsonPatchTestFailed } from '../../patch/json-patch.ts'
import { checkNames } from './apply-configuration.ts'
import { NotNative, PatchValues } from './native-value.ts'
import { PatchProblem } from './patch-problem.ts'

/** Returns the document with the operations that an expression has made; undefined if one of its tests fails. */
export function applyPatchExpression(made: readonly unknown[], document: unknown, maxValues: number): unknown {
  const values = new PatchValues(maxValues)
  const operations = made.map((operation) => operationOf(operation as MadeObject, values))
  try {
    return applyJsonPatch(document, operations, maxValues)
  } catch (error) {
    if (error instanceof JsonPatchTestFailed) return undefined
    if (error instanceof JsonPatchError) throw new PatchProblem(`JSON Patch: ${error.message}`)
    throw error
  }
}

function operationOf({ fields }: MadeObject, values: PatchValues): JsonPatchOperation {
  const text = (name: string): string => (fields.get(name) as string | undefined) ?? ''
  const from = text('from')
  const operation = { op: text('op'), path: text('path'), ...(from !== '' && { from }) }
  if (!fields.has('value')) return operation
  const value = fields.get('value')
  try {
    const native = values.of(value)
    if (value instanceof MadeObject) checkNames(value)
    return { ...operation, value: native }
  } catch (error) {
    if (!(error instanceof NotNative)) throw error
    throw new PatchProblem(
      `JSONPath valueExpression evaluated to a type that could not marshal to JSON: ${error.message}`,
    )
  }
}
