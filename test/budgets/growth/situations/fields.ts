/** Finalizers, owners, managed fields and the like, of any object. */
import { times } from '../../times.ts'
import {
  apply,
  configMaps,
  freed,
  type Json,
  jsonPatch,
  map,
  meta,
  post,
  put,
  remove,
  type Situation,
  turned,
} from './writing.ts'

const configMap = (data: object): Json => ({ metadata: meta, data })
const kept = (object: Json): Json => ({ apiVersion: 'v1', kind: 'ConfigMap', ...object })

export const fieldSituations: Situation[] = [
  {
    name: 'finalizers of an object that is being deleted',
    work(size) {
      const object = (isNew: boolean) => ({
        metadata: {
          ...meta,
          finalizers: turned(
            isNew,
            times(size, (i) => `example.com/f${i}`),
          ),
        },
      })
      return {
        before: [post(configMaps, object(false)), remove(`${configMaps}/large`)],
        measured: [put(`${configMaps}/large`, object(true))],
        after: [freed(configMaps)],
      }
    },
  },
  ...(['Apply', 'Update'] as const).map(
    (operation): Situation => ({
      name: `fields that change, and entries of ${operation} in managedFields`,
      work(size) {
        const managedFields = times(size, (i) => ({
          manager: `m${i}`,
          operation,
          apiVersion: 'v1',
          time: '2026-01-01T00:00:00Z',
          fieldsType: 'FieldsV1',
          fieldsV1: { 'f:data': { [`f:o${i}`]: {} } },
        }))
        const object = { ...kept(configMap(map(size))), metadata: { ...meta, managedFields } }
        return {
          before: [post(configMaps, configMap({}))],
          measured: [
            put(`${configMaps}/large`, object),
            apply(`${configMaps}/large`, kept(configMap(map(size, 'w')))),
            apply(`${configMaps}/large`, kept(configMap({}))),
          ],
          after: [remove(`${configMaps}/large`)],
        }
      },
    }),
  ),
  {
    name: 'JSON patch: items that leave from the front, move and are copied',
    work(size) {
      const list = '/metadata/finalizers'
      const object = { metadata: { ...meta, finalizers: times(size, (i) => `example.com/f${i}`) } }
      const operations = (make: (index: number) => object) =>
        jsonPatch(`${configMaps}/large?dryRun=All`, times(size, make))
      return {
        before: [post(configMaps, object)],
        measured: [
          operations(() => ({ op: 'remove', path: `${list}/0` })),
          operations(() => ({ op: 'move', from: `${list}/0`, path: `${list}/-` })),
          operations((i) => ({ op: 'test', path: `${list}/${i}`, value: `example.com/f${i}` })),
          operations((i) => ({ op: 'copy', from: `${list}/${i}`, path: `/metadata/labels` })),
        ],
        after: [freed(configMaps), remove(`${configMaps}/large`)],
      }
    },
  },
]
