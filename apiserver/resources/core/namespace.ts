import type { Namespace } from '../../../shared/api/types.ts'
import { age, ageColumn, column, nameColumn } from '../../kind/cells.ts'
import { resource } from '../../kind/resource-definition.ts'
import { invalid } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { dns1123Label, isQualifiedFinalizer, NOT_QUALIFIED_FINALIZER, qualifiedName } from '../../validation/names.ts'

const NAME_LABEL = 'kubernetes.io/metadata.name'

export const namespace = resource<Namespace>({
  group: '',
  kind: 'Namespace',
  plural: 'namespaces',
  shortNames: ['ns'],
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  columns: [nameColumn, column('Status', 'Whether the namespace is active or terminating.'), ageColumn],
  cells: ({ metadata, status }, nowMs) => [metadata.name, status?.phase ?? '', age(metadata.creationTimestamp, nowMs)],
  selectableFields: { 'status.phase': ({ status }) => status?.phase ?? '' },
  subresources: { status: true },
  extraSubresources: [{ name: 'finalize', kind: 'Namespace', verbs: ['update'] }],
  strategy: {
    applyDefaults(object) {
      labelWithName(object)
      if (object.status) object.status = { ...object.status, phase: object.status.phase || 'Active' }
    },
    canonicalize: labelWithName,
    prepareForCreate(object) {
      object.status = { phase: 'Active' }
      const finalizers = object.spec?.finalizers ?? []
      object.spec = { finalizers: finalizers.includes('kubernetes') ? finalizers : [...finalizers, 'kubernetes'] }
    },
    prepareForUpdate(object, old, { subresource }) {
      if (subresource === 'finalize') object.status = old.status
      else if (old.spec !== undefined) object.spec = { ...object.spec, finalizers: old.spec.finalizers }
      if (object.spec && object.spec.finalizers === undefined) object.spec = {}
    },
    validate,
    validateUpdate(object, _old, errors, { subresource }) {
      if (subresource === 'status') validatePhase(object, errors)
      else if (subresource === 'finalize') validateFinalizers(object, (index) => `spec.finalizers[${index}]`, errors)
      else validate(object, errors)
    },
    validateName: (name) => dns1123Label(name),
    deletion: {
      begin: (object) => {
        object.status = { ...object.status, phase: 'Terminating' }
      },
      isHeld: ({ spec }) => (spec?.finalizers ?? []).length > 0,
    },
    returnsDeletedObject: true,
  },
  example: { metadata: { name: 'team-a' } },
})

function labelWithName({ metadata }: Namespace): void {
  if (metadata.name) metadata.labels = { ...metadata.labels, [NAME_LABEL]: metadata.name }
}

function validate(object: Namespace, errors: FieldErrors): void {
  validateFinalizers(object, () => 'spec.finalizers', errors)
}

function validateFinalizers({ spec }: Namespace, field: (index: number) => string, errors: FieldErrors): void {
  for (const [index, finalizer] of (spec?.finalizers ?? []).entries()) {
    const messages = qualifiedName(finalizer)
    if (!finalizer.includes('/') && !isQualifiedFinalizer(finalizer)) messages.push(NOT_QUALIFIED_FINALIZER)
    for (const message of messages) errors.push(invalid(field(index), finalizer, message))
  }
}

function validatePhase({ metadata, status }: Namespace, errors: FieldErrors): void {
  const phase = status?.phase ?? ''
  if (metadata.deletionTimestamp === undefined) {
    if (phase !== 'Active') {
      errors.push(invalid('status.Phase', phase, "may only be 'Active' if `deletionTimestamp` is empty"))
    }
  } else if (phase !== 'Terminating') {
    errors.push(invalid('status.Phase', phase, "may only be 'Terminating' if `deletionTimestamp` is not empty"))
  }
}
