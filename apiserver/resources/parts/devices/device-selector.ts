/** CEL selectors of devices. Upstream: k8s.io/dynamic-resource-allocation/cel. */
import { compile } from '../../../cel/environment.ts'
import { BOOL, type CelType, DYN, mapOf, opaque, printType, STRING, struct } from '../../../cel/types.ts'
import { invalid, required, tooLong } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'

const maxExpressionBytes = 10 * 1024

const device = struct(
  'kubernetes.DRADevice',
  new Map<string, CelType>([
    ['driver', STRING],
    ['allowMultipleAllocations', BOOL],
    ['attributes', mapOf(STRING, mapOf(STRING, DYN))],
    ['capacity', mapOf(STRING, mapOf(STRING, opaque('kubernetes.Quantity')))],
  ]),
)
const variables = new Map([['device', device]])

export interface DeviceSelector {
  cel?: { expression: string }
}

/** Checks that a selector has an expression which compiles, and gives a boolean or an attribute. */
export function validateSelector({ cel }: DeviceSelector, path: string, errors: FieldErrors): void {
  if (!cel) {
    errors.push(required(`${path}.cel`))
    return
  }
  const field = `${path}.cel.expression`
  const { expression = '' } = cel
  if (Buffer.byteLength(expression) > maxExpressionBytes) {
    errors.push(tooLong(field, maxExpressionBytes))
    return
  }
  const problem = problemOf(expression)
  if (problem) errors.push(invalid(field, expression, problem))
}

function problemOf(expression: string): string | undefined {
  const compiled = compile(expression, variables)
  if ('phase' in compiled) return `compilation failed: ${compiled.text}`
  const { type } = compiled
  if (type.kind === 'bool' || type.kind === 'dyn') return undefined
  return `must evaluate to bool or the unknown type, not ${printType(type)}`
}
