/** Custom resources with large lists and maps. */
import type { Request } from '../../attack.ts'
import { times } from '../../times.ts'
import { shapes, string, values, wrong } from './shapes.ts'
import {
  apply,
  crds,
  created,
  growths,
  type Json,
  meta,
  patch,
  post,
  remove,
  type Situation,
  turned,
} from './writing.ts'

/** To be there before the situations with custom resources. */
export const growthDefinition = (): Request =>
  post(crds, definitionOf('growths', { type: 'object', properties: { spec: { type: 'object', properties: shapes } } }))

export function definitionOf(
  plural: string,
  openAPIV3Schema: object,
  kind = plural[0]!.toUpperCase() + plural.slice(1, -1),
): Json {
  return {
    metadata: { name: `${plural}.growth.example.com` },
    spec: {
      group: 'growth.example.com',
      scope: 'Cluster',
      names: { plural, kind },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  }
}
const custom = (spec: object): Json => ({
  apiVersion: 'growth.example.com/v1',
  kind: 'Growth',
  metadata: meta,
  spec,
})

export const customSituations: Situation[] = Object.keys(shapes).flatMap((shape): Situation[] => {
  const of = (size: number, isNew: boolean) => {
    const value = values[shape]!(size)
    const turnedValue = Array.isArray(value) ? turned(isNew, value) : value
    return custom({ [shape]: turnedValue, atoms: { isNew: `${isNew}` } })
  }
  const refused = wrong[shape]
  return [
    {
      name: `custom resource: ${shape}, patched and applied`,
      work: (size) => ({
        before: [post(growths, of(size, false))],
        measured: [
          patch(`${growths}/large`, of(size, true)),
          apply(`${growths}/large`, of(size, false)),
          apply(`${growths}/large`, custom({})),
        ],
        after: [remove(`${growths}/large`)],
      }),
    },
    ...(refused
      ? [created(`custom resource: ${shape}, refused`, growths, (size) => custom({ [shape]: refused(size) }))]
      : []),
  ]
})

/** Schemas of which one must allow each item, and none does. */
export const alternatives: Situation = {
  name: 'custom resource: alternatives, refused',
  work(size) {
    const items = { ...string, anyOf: times(size, (i) => ({ pattern: `^e${i}$` })) }
    const spec = { type: 'object', properties: { options: { type: 'array', items } } }
    const object = {
      apiVersion: 'growth.example.com/v1',
      kind: 'Alternative',
      metadata: meta,
      spec: { options: times(size, () => 'f') },
    }
    return {
      before: [post(crds, definitionOf('alternatives', { type: 'object', properties: { spec } }))],
      measured: [post('/apis/growth.example.com/v1/alternatives', object)],
      after: [remove(`${crds}/alternatives.growth.example.com`)],
    }
  },
}

/** Values to choose from, and items that chose another. */
export const choice: Situation = {
  name: 'custom resource: values to choose from, refused',
  work(size) {
    const options = { type: 'array', items: { ...string, enum: times(size, (i) => `e${i}`) } }
    const schema = { type: 'object', properties: { spec: { type: 'object', properties: { options } } } }
    const object = {
      apiVersion: 'growth.example.com/v1',
      kind: 'Choice',
      metadata: meta,
      spec: { options: times(size, (i) => `f${i}`) },
    }
    return {
      before: [post(crds, definitionOf('choices', schema, 'Choice'))],
      measured: [post('/apis/growth.example.com/v1/choices', object)],
      after: [remove(`${crds}/choices.growth.example.com`)],
    }
  },
}
