import type { ConfigMap } from '../../../shared/api/types.ts'
import { age, ageColumn, column, nameColumn } from '../../kind/cells.ts'
import { resource } from '../../kind/resource-definition.ts'
import { forbidden, invalid, tooLong } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { configMapKey } from '../../validation/names.ts'
import { deepEqual } from '../../values/deep-equal.ts'

export const configmap = resource<ConfigMap>({
  group: '',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
  shortNames: ['cm'],
  columns: [nameColumn, column('Data', 'Number of keys in data and binaryData.'), ageColumn],
  cells: ({ metadata, data, binaryData }, nowMs) => [
    metadata.name,
    Object.keys(data ?? {}).length + Object.keys(binaryData ?? {}).length,
    age(metadata.creationTimestamp, nowMs),
  ],
  strategy: {
    validate,
    validateUpdate(configMap, old, errors) {
      if (old.immutable) {
        const unlocked = configMap.immutable !== true
        if (unlocked) errors.push(immutableField('immutable'))
        if (!deepEqual(configMap.data, old.data)) errors.push(immutableField('data'))
        if (!deepEqual(configMap.binaryData, old.binaryData)) errors.push(immutableField('binaryData'))
      }
      validate(configMap, errors)
    },
  },
  example: { metadata: { name: 'settings' }, data: { colour: 'green' } },
})

const immutableField = (field: string) => forbidden(field, 'field is immutable when `immutable` is set')
const MAX_BYTES = 1_048_576

function validate({ data = {}, binaryData = {} }: ConfigMap, errors: FieldErrors): void {
  let bytes = 0
  for (const key of Object.keys(data).sort()) {
    for (const message of configMapKey(key)) errors.push(invalid(`data[${key}]`, key, message))
    if (key in binaryData) errors.push(invalid(`data[${key}]`, key, 'duplicate of key present in binaryData'))
    bytes += Buffer.byteLength(data[key] ?? '')
  }
  for (const key of Object.keys(binaryData).sort()) {
    for (const message of configMapKey(key)) errors.push(invalid(`binaryData[${key}]`, key, message))
    bytes += Buffer.byteLength(binaryData[key] ?? '', 'base64')
  }
  if (bytes > MAX_BYTES) errors.push(tooLong('[]', MAX_BYTES))
}
