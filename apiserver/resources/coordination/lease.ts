import type { Lease } from '../../../shared/api/types.ts'
import { age, ageColumn, column, nameColumn } from '../../kind/cells.ts'
import { resource } from '../../kind/resource-definition.ts'
import { invalid } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'

export const lease = resource<Lease>({
  group: 'coordination.k8s.io',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
  columns: [nameColumn, column('Holder', 'Who holds the lease.'), ageColumn],
  cells: ({ metadata, spec }, nowMs) => [
    metadata.name,
    spec?.holderIdentity ?? '',
    age(metadata.creationTimestamp, nowMs),
  ],
  strategy: {
    unqualifiedFinalizers: true,
    prepareForCreate: dropGatedFields,
    prepareForUpdate: dropGatedFields,
    validate,
    validateUpdate: (leaseObject, _old, errors) => validate(leaseObject, errors),
    allowUnconditionalUpdate: false,
    allowCreateOnUpdate: true,
  },
  example: {
    metadata: { name: 'leader' },
    spec: { holderIdentity: 'a', leaseDurationSeconds: 15 },
  },
})

/** Coordinated leader election is behind a gate that is off. */
function dropGatedFields({ spec }: Lease): void {
  delete spec?.strategy
  delete spec?.preferredHolder
}

function validate({ spec }: Lease, errors: FieldErrors): void {
  const { leaseDurationSeconds, leaseTransitions } = spec ?? {}
  if (leaseDurationSeconds !== undefined && leaseDurationSeconds <= 0) {
    errors.push(invalid('spec.leaseDurationSeconds', leaseDurationSeconds, 'must be greater than 0'))
  }
  if (leaseTransitions !== undefined && leaseTransitions < 0) {
    errors.push(invalid('spec.leaseTransitions', leaseTransitions, 'must be greater than or equal to 0'))
  }
}
