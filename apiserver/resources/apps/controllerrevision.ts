import type { ObjectMeta } from '../../../shared/api/types.ts'
import { age, ageColumn, column, nameColumn } from '../../kind/cells.ts'
import { resource } from '../../kind/resource-definition.ts'
import { required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { validateNotNegative } from '../parts/messages.ts'
import { validateImmutable } from '../parts/workload.ts'

interface ControllerRevision {
  apiVersion?: string
  kind?: string
  metadata: ObjectMeta
  /** A state of its owner, in a form that only the owner knows. */
  data?: unknown
  revision: number
}

export const controllerrevision = resource<ControllerRevision>({
  group: 'apps',
  kind: 'ControllerRevision',
  plural: 'controllerrevisions',
  namespaced: true,
  columns: [
    nameColumn,
    column('Controller', 'Whose revision it is.'),
    column('Revision', 'Which revision of its data it is.'),
    ageColumn,
  ],
  cells: ({ metadata, revision }, nowMs) => [
    metadata.name,
    controllerText(metadata),
    revision,
    age(metadata.creationTimestamp, nowMs),
  ],
  strategy: {
    validate,
    validateUpdate(object, old, errors) {
      validateNotNegative(object.revision, 'revision', errors)
      validateImmutable(object.data, old.data, 'data', errors)
    },
  },
  example: {
    metadata: { name: 'web-1' },
    data: { spec: {} },
    revision: 1,
  },
})

/** `statefulset.apps/web` of the owner that controls it. */
function controllerText({ ownerReferences = [] }: ObjectMeta): string {
  const owner = ownerReferences.find(({ controller }) => controller)
  if (!owner) return '<none>'
  const [group = ''] = owner.apiVersion.includes('/') ? owner.apiVersion.split('/') : []
  const kind = owner.kind.toLowerCase()
  return `${group ? `${kind}.${group}` : kind}/${owner.name}`
}

function validate({ revision, data }: ControllerRevision, errors: FieldErrors): void {
  validateNotNegative(revision, 'revision', errors)
  if (data === undefined || data === null) errors.push(required('data', 'data is mandatory'))
  else if (typeof data !== 'object' || Array.isArray(data))
    errors.push(required('data', 'data must be a valid JSON object'))
}
