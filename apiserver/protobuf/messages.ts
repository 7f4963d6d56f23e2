import { readFileSync } from 'node:fs'
import type { FieldKind } from '../../openapi/types.ts'

/** Names the form that a field has in JSON. */
export type Form = Exclude<FieldKind, 'object'> | 'uint' | 'message' | 'wrapped'

export interface FieldType {
  form: Form
  /** Names the message type of a field of the kind `message`. */
  message?: string
  /** Holds the type of a list's items, of a map's values, or of what a wrapper holds. */
  element?: FieldType
}
export interface MessageField {
  /** JSON name; '' when the message's fields appear in the parent. */
  name: string
  type: FieldType
}
export type Message = Map<number, MessageField>

type Row = [number: number, name: string, form: string]

/** Describes what no document of the API does: objects and lists reduced to their metadata. */
const partial: Record<string, Row[]> = {
  'apis/meta/v1.PartialObjectMetadata': [[1, 'metadata', '@apis/meta/v1.ObjectMeta']],
  'apis/meta/v1.PartialObjectMetadataList': [
    [1, 'metadata', '@apis/meta/v1.ListMeta'],
    [2, 'items', '[]@apis/meta/v1.PartialObjectMetadata'],
  ],
}
const partialKind = /^meta\.k8s\.io\/v1(?:beta1)? (PartialObjectMetadata(?:List)?)$/

let table: (Record<string, Row[]> & { '': Record<string, string> }) | undefined
const messages = new Map<string, Message>()

function load() {
  table ??= JSON.parse(
    readFileSync(new URL('../../openapi/data/protobuf.json', import.meta.url), 'utf8'),
  ) as NonNullable<typeof table>
  return table
}

/**
 * Returns the name of a kind's message, e.g. for `apps/v1` and `Deployment`; undefined when the kind has no protobuf
 * form.
 */
export const messageOfKind = (apiVersion: string, kind: string): string | undefined =>
  load()[''][`${apiVersion} ${kind}`] ?? partialOf(`${apiVersion} ${kind}`)

function partialOf(kind: string): string | undefined {
  const name = partialKind.exec(kind)?.[1]
  return name && `apis/meta/v1.${name}`
}

export function message(name: string): Message {
  let found = messages.get(name)
  if (!found) {
    found = new Map(
      (load()[name] ?? partial[name] ?? []).map(([number, json, form]) => [number, { name: json, type: parse(form) }]),
    )
    messages.set(name, found)
  }
  return found
}

function parse(form: string): FieldType {
  if (form.startsWith('@')) return { form: 'message', message: form.slice(1) }
  if (form.startsWith('[]')) return { form: 'list', element: parse(form.slice(2)) }
  if (form.startsWith('{}')) return { form: 'map', element: parse(form.slice(2)) }
  if (form.startsWith('=')) return { form: 'wrapped', element: parse(form.slice(1)) }
  return { form: form as Form }
}
