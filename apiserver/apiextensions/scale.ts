import type { KubeObject } from '../../shared/api/types.ts'
import type { ScaleAccess } from '../kind/scale-access.ts'
import { printType, printValue } from '../patch/structured-merge/go-print.ts'
import { isObject, type JsonObject } from '../schema/json-schema.ts'
import type { CustomResourceSubresourceScale } from './custom-resource-definition.ts'
import { parseFieldPath } from './field-path.ts'

export function scaleAccess(scale: CustomResourceSubresourceScale): ScaleAccess {
  const spec = parseFieldPath(scale.specReplicasPath) ?? []
  const status = parseFieldPath(scale.statusReplicasPath) ?? []
  const selector = scale.labelSelectorPath ? (parseFieldPath(scale.labelSelectorPath) ?? []) : []
  return {
    specReplicasPath: scale.specReplicasPath,
    statusReplicasPath: scale.statusReplicasPath,
    ...(scale.labelSelectorPath && { selectorPath: scale.labelSelectorPath }),
    problem: (object, field) =>
      field === 'selector'
        ? accessProblem(object, selector, 'string')
        : accessProblem(object, field === 'spec' ? spec : status, 'int64'),
    specReplicas: (object) => numberAt(object, spec),
    statusReplicas: (object) => numberAt(object, status) ?? 0,
    selector: (object) => {
      const value = selector.length > 0 ? valueAt(object, selector) : undefined
      return typeof value === 'string' ? value : ''
    },
    setSpecReplicas: (object, replicas) => setAt(object, spec, replicas),
  }
}

/** Follows the path as upstream's unstructured accessors do. */
function accessProblem(object: unknown, path: readonly string[], expected: 'int64' | 'string'): string | undefined {
  let value = object
  for (const [index, step] of path.entries()) {
    if (value === null || value === undefined) return undefined
    if (!isObject(value)) return accessError(value, path.slice(0, index + 1), 'map[string]interface{}')
    if (!Object.hasOwn(value, step)) return undefined
    value = value[step]
  }
  if (value === undefined) return undefined
  return printType(value) === expected ? undefined : accessError(value, path, expected)
}

const accessError = (value: unknown, path: readonly string[], expected: string): string =>
  `.${path.join('.')} accessor error: ${printValue(value)} is of the type ${printType(value)}, expected ${expected}`

export const valueAt = (object: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (value, step) => (isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined),
    object,
  )
const numberAt = (object: unknown, path: readonly string[]): number | undefined => {
  const value = valueAt(object, path)
  return typeof value === 'bigint' ? Number(value) : typeof value === 'number' ? value : undefined
}

function setAt(object: KubeObject, path: readonly string[], value: unknown): void {
  let at: JsonObject = object
  for (const step of path.slice(0, -1)) {
    if (!isObject(at[step])) at[step] = {}
    at = at[step] as JsonObject
  }
  const last = path.at(-1)
  if (last !== undefined) at[last] = value
}
