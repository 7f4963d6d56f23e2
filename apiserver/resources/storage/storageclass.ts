import type { V1StorageClass } from '@kubernetes/client-node'
import type { WithMeta } from '../../../shared/api/types.ts'
import { age, ageColumn, column, nameColumn } from '../../kind/cells.ts'
import { duplicate, invalid, notSupported, required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { qualifiedName } from '../../validation/names.ts'
import { repetition } from '../../validation/repetition.ts'
import { reject } from '../parts/messages.ts'
import { nodeLabelWarnings } from '../parts/node-labels.ts'
import { plain } from '../parts/plain.ts'
import { validateImmutable } from '../parts/workload.ts'

type StorageClass = WithMeta<V1StorageClass>

const DEFAULT = 'storageclass.kubernetes.io/is-default-class'
const OLD_DEFAULT = 'storageclass.beta.kubernetes.io/is-default-class'
const isDefault = ({ annotations = {} }: StorageClass['metadata']): boolean =>
  annotations[DEFAULT] === 'true' || annotations[OLD_DEFAULT] === 'true'

export const storageclass = plain<StorageClass>({
  group: 'storage.k8s.io',
  kind: 'StorageClass',
  plural: 'storageclasses',
  shortNames: ['sc'],
  columns: [
    nameColumn,
    column('Provisioner', 'Who makes its volumes.'),
    column('ReclaimPolicy', 'What becomes of them when their claims go.'),
    column('VolumeBindingMode', 'When claims are bound.'),
    column('AllowVolumeExpansion', 'Whether volumes may grow.'),
    ageColumn,
  ],
  cells: (object, nowMs) => [
    isDefault(object.metadata) ? `${object.metadata.name} (default)` : object.metadata.name,
    object.provisioner,
    object.reclaimPolicy ?? 'Delete',
    object.volumeBindingMode ?? 'Immediate',
    object.allowVolumeExpansion ?? false,
    age(object.metadata.creationTimestamp, nowMs),
  ],
  strategy: {
    returnsDeletedObject: true,
    applyDefaults(object) {
      object.reclaimPolicy ??= 'Delete'
      object.volumeBindingMode ??= 'Immediate'
    },
    validate,
    warnings: ({ allowedTopologies = [] }) =>
      allowedTopologies.flatMap(({ matchLabelExpressions = [] }, i) =>
        matchLabelExpressions.flatMap(({ key }, j) =>
          nodeLabelWarnings([key], () => `allowedTopologies[${i}].matchLabelExpressions[${j}].key`),
        ),
      ),
    validateUpdate(object, old, errors) {
      validate(object, errors)
      for (const field of ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'] as const)
        validateImmutable(object[field], old[field], field, errors)
    },
  },
  example: { metadata: { name: 'disks' }, provisioner: 'disk.example.com' },
})

const MAX_PARAMETERS = 512
const policies = ['Delete', 'Retain']
const modes = ['Immediate', 'WaitForFirstConsumer']

function validate(
  { provisioner, parameters, reclaimPolicy, volumeBindingMode, allowedTopologies = [] }: StorageClass,
  errors: FieldErrors,
): void {
  if (!provisioner) errors.push(required('provisioner'))
  else reject(errors, 'provisioner', provisioner.toLowerCase(), qualifiedName(provisioner.toLowerCase()))
  const keys = Object.keys(parameters ?? {})
  if (keys.length > MAX_PARAMETERS)
    errors.push({
      type: 'FieldValueTooLong',
      field: 'Provisioner Parameters',
      detail: `may not be more than ${MAX_PARAMETERS} bytes`,
    })
  if (keys.includes('')) errors.push(invalid('parameters', '', 'field can not be empty.'))
  if (reclaimPolicy && !policies.includes(reclaimPolicy))
    errors.push(notSupported('reclaimPolicy', reclaimPolicy, policies))
  if (volumeBindingMode === undefined) errors.push(required('volumeBindingMode'))
  else if (!modes.includes(volumeBindingMode)) errors.push(notSupported('volumeBindingMode', volumeBindingMode, modes))
  validateTopologies(allowedTopologies, errors)
}

type Topologies = NonNullable<StorageClass['allowedTopologies']>
function validateTopologies(topologies: Topologies, errors: FieldErrors): void {
  // Upstream starts with as many empty terms as there are topologies, and finds an empty one in each of them.
  const seen = new Map([[textOf({}), topologies.length]])
  for (const [index, { matchLabelExpressions = [] }] of topologies.entries()) {
    const at = `allowedTopologies[${index}].matchLabelExpressions`
    const term: Record<string, string[]> = {}
    for (const [place, { key, values }] of matchLabelExpressions.entries()) {
      const expression = `${at}[${place}]`
      if (!values?.length) errors.push(required(`${expression}.values`))
      const isRepeated = repetition()
      for (const [valueIndex, value] of (values ?? []).entries())
        if (isRepeated(value)) errors.push(duplicate(`${expression}.values[${valueIndex}]`, value))
      reject(errors, `${expression}.key`, key, qualifiedName(key))
      if (Object.hasOwn(term, key)) errors.push(duplicate(`${expression}.key`, key))
      term[key] = [...new Set(values)].sort()
    }
    const text = textOf(term)
    const equal = seen.get(text) ?? 0
    for (let i = 0; i < equal && errors.length < maxDuplicates; i++) errors.push(duplicate(at, ''))
    seen.set(text, equal + 1)
  }
}

/** Upstream names each pair: of a thousand equal terms that would be a million errors. */
const maxDuplicates = 10_000
const textOf = (term: Record<string, string[]>): string => JSON.stringify(Object.entries(term).sort())
