import type { V1RuntimeClass } from '@kubernetes/client-node'
import { isNegativeQuantity } from '../../../shared/api/quantities/quantity.ts'
import type { WithMeta } from '../../../shared/api/types.ts'
import { age, ageColumn, column, nameColumn } from '../../kind/cells.ts'
import { duplicate, invalid, required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { dump } from '../../validation/go-dump.ts'
import { dns1123Label } from '../../validation/names.ts'
import { validateLabels } from '../../validation/object-meta.ts'
import { repetition } from '../../validation/repetition.ts'
import { validateContainerResourceName } from '../parts/container-resource-names.ts'
import { NOT_NEGATIVE, reject } from '../parts/messages.ts'
import { nodeLabelWarnings } from '../parts/node-labels.ts'
import { plain } from '../parts/plain.ts'
import { validateTolerations } from '../parts/tolerations.ts'
import { validateImmutable } from '../parts/workload.ts'

type RuntimeClass = WithMeta<V1RuntimeClass>

export const runtimeclass = plain<RuntimeClass>({
  group: 'node.k8s.io',
  kind: 'RuntimeClass',
  plural: 'runtimeclasses',
  columns: [nameColumn, column('Handler', 'What the nodes know it by.'), ageColumn],
  cells: ({ metadata, handler }, nowMs) => [metadata.name, handler, age(metadata.creationTimestamp, nowMs)],
  strategy: {
    unqualifiedFinalizers: true,
    validate,
    warnings: ({ scheduling }) =>
      nodeLabelWarnings(Object.keys(scheduling?.nodeSelector ?? {}), () => 'scheduling.nodeSelector'),
    validateUpdate(object, old, errors) {
      validate(object, errors)
      validateImmutable(object.handler, old.handler, 'handler', errors)
    },
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: false,
  },
  example: { metadata: { name: 'sandbox' }, handler: 'runsc' },
})

function validate({ handler, overhead, scheduling }: RuntimeClass, errors: FieldErrors): void {
  if (!handler) errors.push(required('handler'))
  else reject(errors, 'handler', handler, dns1123Label(handler))
  for (const [name, quantity] of Object.entries(overhead?.podFixed ?? {})) {
    validateContainerResourceName(name, `overhead.limits[${name}]`, errors)
    if (isNegativeQuantity(quantity)) errors.push(invalid(`overhead.limits[${name}]`, quantity, NOT_NEGATIVE))
  }
  validateLabels(scheduling?.nodeSelector, 'scheduling.nodeSelector', errors)
  const tolerations = scheduling?.tolerations ?? []
  validateTolerations(tolerations, 'scheduling.tolerations', errors)
  const isRepeated = repetition()
  for (const [index, toleration] of tolerations.entries()) {
    const { key, operator, value, effect } = toleration
    if (!isRepeated(JSON.stringify([key, operator, value, effect]))) continue
    errors.push(duplicate(`scheduling.tolerations[${index}]`, dump('io.k8s.api.core.v1.Toleration', toleration)))
  }
}
