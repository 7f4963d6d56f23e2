/** Definitions of custom resources that are large themselves. */
import { times } from '../../times.ts'
import { definitionOf } from './custom-resources.ts'
import { string } from './shapes.ts'
import { crds, map, post, type Situation } from './writing.ts'

export const definitionSituations: Situation[] = [
  ['properties', (size: number) => ({ properties: map(size, string) })],
  [
    'properties with rules',
    (size: number) => ({
      properties: map(size, { ...string, maxLength: 9, 'x-kubernetes-validations': [{ rule: 'true' }] }),
    }),
  ],
  [
    'properties that are wrong, and rules',
    (size: number) => ({
      properties: map(size, {
        ...string,
        nullable: true,
        default: 1,
        'x-kubernetes-validations': [{ rule: 'self ==' }],
      }),
    }),
  ],
  ['required properties', (size: number) => ({ properties: map(size, string), required: times(size, (i) => `k${i}`) })],
  [
    'keys of a list',
    (size: number) => ({
      properties: {
        a: {
          type: 'array',
          items: { type: 'object', properties: map(size, string), required: times(size, (i) => `k${size - i - 1}`) },
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': times(size, (i) => `k${i}`),
        },
      },
    }),
  ],
].map(([name, schema]): Situation => {
  const form = schema as (size: number) => object
  return {
    name: `definition: ${name}`,
    work: (size) => ({
      before: [],
      measured: [
        post(
          `${crds}?dryRun=All`,
          definitionOf('larges', { type: 'object', properties: { spec: { type: 'object', ...form(size) } } }),
        ),
      ],
      after: [],
    }),
  }
})
