import { dump } from 'js-yaml'
import { h, type JSX } from 'preact'
import type { RecordedObject } from '../../shared/record/format.ts'

/** Bounds the characters of one object; more would make the page slow. */
const maxText = 200_000

/** Shows an object as YAML, with its managed fields folded. */
export function ObjectView({ object }: { object: RecordedObject }): JSX.Element {
  const { managedFields, ...metadata } = object.metadata
  return h('section', null, [
    h('h2', null, [`${object.kind} `, h('bdi', null, String(object.metadata.name).slice(0, 300))]),
    h('pre', { tabIndex: 0, role: 'region', 'aria-label': 'YAML' }, yaml({ ...object, metadata })),
    managedFields
      ? h('details', null, [
          h('summary', null, 'managedFields'),
          h('pre', { tabIndex: 0, role: 'region', 'aria-label': 'Managed fields' }, yaml(managedFields)),
        ])
      : null,
  ])
}

function yaml(value: unknown): string {
  const text = dump(value, { lineWidth: -1 })
  return text.length > maxText ? `${text.slice(0, maxText)}\n… ${text.length - maxText} characters left out` : text
}
