/** What an object that is there is asked: writes as dry runs, so that it stays what it is. */
import type { ResourceDefinition } from '../../../apiserver/kind/resource-definition.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import { type Field, setAt } from '../fields/cases.ts'

/** A write of the object with a field of it as something else. */
export interface Ask {
  /** `status spec.x`, with the endpoint where it is not the object's own. */
  field: string
  method: 'PUT' | 'PATCH'
  endpoint: string
  type: string
  body(stored: KubeObject): unknown
}

type Put = Pick<Ask, 'field' | 'method' | 'endpoint' | 'type'>
const put = (path: string[], endpoint = ''): Put => ({
  field: `${endpoint && `${endpoint} `}${path.join('.')}`,
  method: 'PUT',
  endpoint,
  type: 'application/json',
})

/** The whole object with another value in one field, and merge patches of the field alone. */
export function* asksOf(kind: ResourceDefinition, fields: Iterable<Field>): Generator<Ask> {
  for (const { path, values, sample } of fields) {
    const isStatus = path[0] === 'status'
    const endpoints = isStatus && path.length > 1 ? ['status'] : path.length <= 2 ? ['', 'status'] : ['']
    for (const endpoint of endpoints) {
      if (endpoint === 'status' && !kind.subresources?.status) continue
      for (const value of values) yield { ...put(path, endpoint), body: (stored) => changed(stored, path, value) }
    }
    if (path.includes('0')) continue
    const endpoint = isStatus && kind.subresources?.status ? 'status' : ''
    const merge = { ...put(path, endpoint), method: 'PATCH', type: 'application/merge-patch+json' } as const
    for (const value of [null, sample]) yield { ...merge, body: () => changed({}, path, value) }
  }
}

export function changed(object: object, path: string[], value: unknown): unknown {
  const body = structuredClone(object)
  setAt(body, path, value)
  return body
}
