import type { V1PriorityClass } from '@kubernetes/client-node'
import type { WithMeta } from '../../../shared/api/types.ts'
import { age, ageColumn, column, nameColumn } from '../../kind/cells.ts'
import { forbidden, notSupported } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { plain } from '../parts/plain.ts'

type PriorityClass = Omit<WithMeta<V1PriorityClass>, 'value'> & { value: number }

const HIGHEST = 1_000_000_000
/** The two that every cluster has. */
const systemClasses: Record<string, number> = {
  'system-node-critical': 2_000_001_000,
  'system-cluster-critical': 2_000_000_000,
}
const policies = ['PreemptLowerPriority', 'Never']

export const priorityclass = plain<PriorityClass>({
  group: 'scheduling.k8s.io',
  kind: 'PriorityClass',
  plural: 'priorityclasses',
  shortNames: ['pc'],
  columns: [
    nameColumn,
    column('Value', 'Priority that pods of it get.', { type: 'integer' }),
    column('Global-Default', 'Whether pods without a class get it.', { type: 'boolean' }),
    ageColumn,
    column('PreemptionPolicy', 'Whether its pods may take the place of others.'),
  ],
  cells: (object, nowMs) => [
    object.metadata.name,
    object.value,
    object.globalDefault ?? false,
    age(object.metadata.creationTimestamp, nowMs),
    object.preemptionPolicy ?? '',
  ],
  strategy: {
    // It never rises.
    generation: { changed: () => false },
    applyDefaults(object) {
      object.preemptionPolicy ??= 'PreemptLowerPriority'
    },
    validate,
    validateUpdate(object, old, errors) {
      const change = 'may not be changed in an update.'
      if (object.value !== old.value) errors.push(forbidden('value', change))
      if (object.preemptionPolicy !== old.preemptionPolicy)
        errors.push({
          type: 'FieldValueInvalid',
          field: 'preemptionPolicy',
          value: object.preemptionPolicy ?? null,
          detail: 'field is immutable',
        })
    },
  },
  example: { metadata: { name: 'high' }, value: 1000 },
})

function validate({ metadata, value, globalDefault, preemptionPolicy }: PriorityClass, errors: FieldErrors): void {
  const { name = '' } = metadata
  if (name.startsWith('system-')) {
    const problem = systemProblem(name, value, globalDefault)
    if (problem)
      errors.push(
        forbidden(
          'metadata.name',
          `priority class names with 'system-' prefix are reserved for system use only. error: ${problem}`,
        ),
      )
  } else if (value > HIGHEST) {
    errors.push(forbidden('value', `maximum allowed value of a user defined priority is ${HIGHEST}`))
  }
  if (preemptionPolicy !== undefined && !policies.includes(preemptionPolicy))
    errors.push(notSupported('preemptionPolicy', preemptionPolicy, policies))
}

function systemProblem(name: string, value: number, globalDefault: boolean | undefined): string | undefined {
  const expected = Object.hasOwn(systemClasses, name) ? systemClasses[name] : undefined
  if (expected === undefined) return `${name} is not a known system priority class`
  if (value !== expected) return `value of ${name} PriorityClass must be ${expected}`
  return globalDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined
}
