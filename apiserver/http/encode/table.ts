import { badRequest } from '../../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import type { Column, ResourceDefinition } from '../../kind/resource-definition.ts'
import { typeHead } from '../../registry/stored-object.ts'
import type { Query } from '../request-info.ts'
import type { Transform } from './negotiation.ts'
import { partialObjectMetadata } from './partial-object-metadata.ts'

export type IncludeObject = 'Metadata' | 'Object' | 'None'

export interface TableOptions {
  version: Transform['version']
  include: IncludeObject
  metadata: Record<string, unknown>
  nowMs: number
  /** A watch sends them only once. */
  withoutColumns?: boolean
}

export function includeObject(query: Query): IncludeObject {
  const asked = query.get('includeObject')
  if (asked === null || asked === '') return 'Metadata'
  if (asked === 'Metadata' || asked === 'Object' || asked === 'None') return asked
  throw badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(asked)}: must be 'Metadata', 'Object', 'None', or empty`,
  )
}

export interface TableRow {
  cells: unknown[]
  conditions?: unknown[]
  object: unknown
}
export interface Table {
  kind: 'Table'
  apiVersion: string
  metadata: Record<string, unknown>
  columnDefinitions: unknown[] | null
  rows: TableRow[]
}

/** Go's zero time, of an object that was never created. */
const zeroTime = '0001-01-01T00:00:00Z'

const defaultColumns: Column[] = [
  {
    name: 'Name',
    type: 'string',
    format: 'name',
    description: 'Name must be unique within a namespace. Cannot be updated.',
  },
  {
    name: 'Created At',
    type: 'date',
    description: 'CreationTimestamp is a timestamp representing the server time when this object was created.',
  },
]

/** Makes a meta.k8s.io Table. The objects must carry their resourceVersion; they are not changed. */
export function tableOf(definition: ResourceDefinition, objects: readonly KubeObject[], options: TableOptions): Table {
  const { version, metadata, withoutColumns = false } = options
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${version}`,
    metadata,
    columnDefinitions: withoutColumns ? null : columnsOf(definition),
    rows: objects.map((object) => rowOf(definition, object, options)),
  }
}

function columnsOf({ columns = defaultColumns }: ResourceDefinition): unknown[] {
  return columns.map(({ name, type, format = '', description, priority = 0 }) => ({
    name,
    type,
    format,
    description,
    priority,
  }))
}

export function rowOf(
  definition: ResourceDefinition,
  object: KubeObject,
  { version, include, nowMs }: Pick<TableOptions, 'version' | 'include' | 'nowMs'>,
): TableRow {
  const cells = definition.cells?.(object, nowMs) ?? [
    object.metadata.name,
    object.metadata.creationTimestamp ?? zeroTime,
  ]
  const conditions = definition.rowConditions?.(object)
  return { cells, ...(conditions?.length && { conditions }), object: shown(definition, object, { version, include }) }
}

function shown(
  definition: ResourceDefinition,
  object: KubeObject,
  { version, include }: Pick<TableOptions, 'version' | 'include'>,
): unknown {
  if (include === 'None') return null
  if (include === 'Metadata') return partialObjectMetadata(object, version, definition)
  const { kind, apiVersion } = JSON.parse(`${typeHead(definition).slice(0, -1)}}`) as KubeObject
  return { kind, apiVersion, ...object }
}
