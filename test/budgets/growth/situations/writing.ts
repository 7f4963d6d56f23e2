/** What a situation is, and how its requests are written. */
import type { Request } from '../../attack.ts'
import { times } from '../../times.ts'
import type { Work } from '../writes.ts'

export type Json = Record<string, unknown>
export interface Situation {
  name: string
  work(size: number): Work
}

export const core = '/api/v1/namespaces/default'
export const pods = `${core}/pods`
export const configMaps = `${core}/configmaps`
export const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
export const growths = '/apis/growth.example.com/v1/growths'
export const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }

export const map = (size: number, value: unknown = 'v'): Json =>
  Object.fromEntries(times(size, (i) => [`k${i}`, value]))
const send =
  (method: string, type?: string) =>
  (path: string, body: object, headers?: Record<string, string>): Request => ({
    method,
    path,
    type,
    headers,
    body: JSON.stringify(body),
  })
export const post = send('POST')
export const put = send('PUT')
export const patch = send('PATCH', 'application/merge-patch+json')
export const jsonPatch = send('PATCH', 'application/json-patch+json')
export const apply = (path: string, body: object): Request =>
  send('PATCH', 'application/apply-patch+yaml')(`${path}?fieldManager=growth&force=true`, body)
export const remove = (path: string): Request => ({ method: 'DELETE', path, body: '{"gracePeriodSeconds":0}' })
export const as = (user: string, group: string): Record<string, string> => ({
  'impersonate-user': user,
  'impersonate-group': group,
})

export const meta = { name: 'large' }
export const container = { name: 'a', image: 'a', terminationMessagePolicy: 'File' }
export const containers = (size: number, more: (index: number) => object = () => ({})): object[] =>
  times(size, (i) => ({ ...container, name: `c${i}`, ...more(i) }))
export const pod = (spec: object, metadata: object = {}): Json => ({
  metadata: { ...meta, ...metadata },
  spec: { containers: [container], ...spec },
})

export const statusOf = ({ status }: Json): Json => ({ status })

/** An object is made in one form, and written in another. */
export const changed = (
  name: string,
  path: string,
  form: (size: number, isNew: boolean) => Json,
  endpoint = '',
): Situation => ({
  name,
  work: (size) => ({
    before: [post(path, form(size, false))],
    measured: [put(`${path}/large${endpoint}`, form(size, true))],
    after: [remove(`${path}/large`), freed(path)],
  }),
})
export const created = (
  name: string,
  path: string,
  form: (size: number) => Json,
  headers?: Record<string, string>,
): Situation => ({
  name,
  work: (size) => ({
    before: [],
    measured: [post(path, form(size), headers)],
    after: [remove(`${path}/large`)],
  }),
})
export const freed = (path: string): Request => patch(`${path}/large`, { metadata: { finalizers: null } })

/** The first form in order, the second in reverse. */
export const turned = <T>(isNew: boolean, items: T[]): T[] => (isNew ? items.toReversed() : items)
