import type { Secret } from '../../../shared/api/types.ts'
import { age, ageColumn, column, nameColumn } from '../../kind/cells.ts'
import { resource } from '../../kind/resource-definition.ts'
import { forbidden, invalid, required, tooLong } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { scanJson } from '../../validation/json-scanner.ts'
import { configMapKey } from '../../validation/names.ts'
import { deepEqual } from '../../values/deep-equal.ts'

export const secret = resource<Secret>({
  group: '',
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
  columns: [
    nameColumn,
    column('Type', 'What kind of data the secret holds.'),
    column('Data', 'Number of keys.'),
    ageColumn,
  ],
  cells: ({ metadata, type, data }, nowMs) => [
    metadata.name,
    type,
    Object.keys(data ?? {}).length,
    age(metadata.creationTimestamp, nowMs),
  ],
  selectableFields: { type: ({ type }) => type ?? '' },
  strategy: {
    applyDefaults(object) {
      object.type ||= 'Opaque'
      if (!object.stringData) return
      object.data = { ...object.data }
      for (const [key, text] of Object.entries(object.stringData))
        object.data[key] = Buffer.from(text).toString('base64')
      delete object.stringData
    },
    prepareForUpdate(object, old) {
      object.type ||= old.type
    },
    validate,
    validateUpdate(object, old, errors) {
      if (object.type !== old.type) errors.push(invalid('type', object.type, 'field is immutable'))
      if (old.immutable) {
        if (object.immutable !== true) errors.push(immutableField('immutable'))
        if (!deepEqual(object.data, old.data)) errors.push(immutableField('data'))
      }
      validate(object, errors)
    },
    warnings: ({ type, data }) => (type === 'kubernetes.io/tls' ? tlsWarnings(data ?? {}) : []),
  },
  example: {
    metadata: { name: 'token' },
    type: 'Opaque',
    stringData: { token: 'x' },
  },
})

const immutableField = (field: string) => forbidden(field, 'field is immutable when `immutable` is set')
const MAX_BYTES = 1_048_576
const ACCOUNT_ANNOTATION = 'kubernetes.io/service-account.name'
const REDACTED = '<secret contents redacted>'

const requiredKeys = new Map([
  ['kubernetes.io/dockercfg', ['.dockercfg']],
  ['kubernetes.io/dockerconfigjson', ['.dockerconfigjson']],
  ['kubernetes.io/tls', ['tls.crt', 'tls.key']],
])
const jsonKeys = new Set(['.dockercfg', '.dockerconfigjson'])

function validate({ metadata, type = '', data = {} }: Secret, errors: FieldErrors): void {
  let bytes = 0
  for (const key of Object.keys(data).sort()) {
    for (const message of configMapKey(key)) errors.push(invalid(`data[${key}]`, key, message))
    bytes += Buffer.byteLength(data[key] ?? '', 'base64')
  }
  if (bytes > MAX_BYTES) errors.push(tooLong('data', MAX_BYTES))
  for (const key of requiredKeys.get(type) ?? []) {
    if (data[key] === undefined) errors.push(required(`data[${key}]`))
    else if (jsonKeys.has(key)) {
      const { error } = scanJson(Buffer.from(data[key], 'base64').toString())
      if (error !== undefined) errors.push(invalid(`data[${key}]`, REDACTED, error))
    }
  }
  if (type === 'kubernetes.io/service-account-token' && !metadata.annotations?.[ACCOUNT_ANNOTATION]) {
    errors.push(required(`metadata.annotations[${ACCOUNT_ANNOTATION}]`))
  }
  if (type === 'kubernetes.io/ssh-auth' && !data['ssh-privatekey']) errors.push(required('data[ssh-privatekey]'))
  if (type === 'kubernetes.io/basic-auth' && data.username === undefined && data.password === undefined) {
    errors.push(required('data[username]'), required('data[password]'))
  }
}

/** Upstream accepts a key pair that it cannot read, with a warning. */
function tlsWarnings(data: Record<string, string>): string[] {
  const [certificate, key] = ['tls.crt', 'tls.key'].map((name) => Buffer.from(data[name] ?? '', 'base64').toString())
  const block = /-----BEGIN [A-Z0-9 ]+-----/
  if (!block.test(certificate ?? '')) return ['tls: failed to find any PEM data in certificate input']
  if (!block.test(key ?? '')) return ['tls: failed to find any PEM data in key input']
  return []
}
