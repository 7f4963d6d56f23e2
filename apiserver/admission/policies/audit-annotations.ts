/**
 * Writes the annotations of validating policies into the audit event of a request. Upstream:
 * plugin/policy/validating/dispatcher.go.
 */
import type { Annotate } from '../../registry/admission-plugin.ts'
import { escapedAsGo } from '../go-json.ts'
import type { Violation } from './evaluate.ts'
import type { ValidatingAdmissionPolicyBinding } from './policy.ts'

const maxValueBytes = 10 * 1024

/** Says which validation does not hold, in the JSON of Go. */
export function auditViolation(
  { message, index = 0 }: Violation,
  { metadata, spec: { policyName, validationActions } }: ValidatingAdmissionPolicyBinding,
  annotate: Annotate,
): void {
  const failure = { message, policy: policyName, binding: metadata.name, expressionIndex: index, validationActions }
  annotate('validation.policy.admission.k8s.io/validation_failure', escapedAsGo(JSON.stringify([failure])))
}

/** Writes the annotations of one policy. Bindings may give a key other values, which are joined. */
export function auditValues(
  policyName: string,
  annotations: readonly (readonly [key: string, value: string])[],
  annotate: Annotate,
): void {
  const byKey = Map.groupBy(annotations, ([key]) => key)
  for (const [key, pairs] of byKey) {
    const values = new Set(pairs.map(([, value]) => cut(value)))
    annotate(`${policyName}/${key}`, [...values].join(', '))
  }
}

function cut(value: string): string {
  const bytes = Buffer.from(value)
  return bytes.length > maxValueBytes ? bytes.subarray(0, maxValueBytes).toString() : value
}
