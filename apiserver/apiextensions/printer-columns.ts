import type { KubeObject } from '../../shared/api/types.ts'
import { humanDuration, nameColumn } from '../kind/cells.ts'
import type { Column } from '../kind/resource-definition.ts'
import { sortedJson } from '../schema/list-types.ts'
import type { CustomResourceColumnDefinition } from './custom-resource-definition.ts'
import { findAll, parseJSONPath } from './json-path.ts'

/** The only column of a version whose author names none. */
const AGE: CustomResourceColumnDefinition = {
  name: 'Age',
  type: 'date',
  description: 'CreationTimestamp is a timestamp representing the server time when this object was created.',
  jsonPath: '.metadata.creationTimestamp',
}

/** Returns the columns and cells of a custom resource's table. It ends before a JSONPath that cannot be parsed. */
export function printerColumns(definitions: CustomResourceColumnDefinition[] | undefined): {
  columns: Column[]
  cells(object: KubeObject, nowMs: number): unknown[]
} {
  const wanted = definitions !== undefined && definitions.length > 0 ? definitions : [AGE]
  const readable = wanted.map((definition) => ({ definition, path: parseJSONPath(definition.jsonPath) }))
  const unreadable = readable.findIndex(({ path }) => path === undefined)
  const printed = unreadable === -1 ? readable : readable.slice(0, unreadable)
  return {
    columns: [nameColumn, ...printed.map(({ definition }) => columnOf(definition))],
    cells: (object, nowMs) => [
      object.metadata.name,
      ...printed.map(({ definition, path }) => cellOf(definition, findAll(path ?? [], object)[0], nowMs)),
    ],
  }
}

const columnOf = (definition: CustomResourceColumnDefinition): Column => ({
  name: definition.name,
  type: definition.type as Column['type'],
  format: definition.format ?? '',
  description:
    definition.description || `Custom resource definition column (in JSONPath format): ${definition.jsonPath}`,
  priority: definition.priority ?? 0,
})

function cellOf(definition: CustomResourceColumnDefinition, value: unknown, nowMs: number): unknown {
  if (value === undefined || value === null) return null
  switch (definition.type) {
    case 'string':
      return typeof value === 'object' ? sortedJson(value) : String(value)
    case 'integer':
      return typeof value === 'bigint' ? value : typeof value === 'number' ? Math.trunc(value) : null
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint' ? value : null
    case 'boolean':
      return typeof value === 'boolean' ? value : null
    case 'date':
      return typeof value === 'string' ? dateCell(value, nowMs) : null
    default:
      return null
  }
}

function dateCell(text: string, nowMs: number): string {
  const ms = /^\d{4}-\d\d-\d\d[Tt]/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? '<invalid>' : humanDuration(nowMs - ms)
}
