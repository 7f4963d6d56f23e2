import { badRequest, unsupportedMediaType } from '../../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import { resetsManagedFields } from '../../patch/managed-fields.ts'
import { assertObjectBody, decodeBody, type FieldValidation, parseJsonBody } from '../../validation/request-body.ts'
import { warnOf } from '../../validation/strict-errors.ts'
import type { WorkLimits } from '../../work-limits.ts'
import { parseYaml, YamlError } from './yaml-body.ts'

/** A body that has arrived and is not parsed yet. */
export interface RawBody {
  bytes: Buffer
  contentType: string | undefined
}

const customTypes = ['application/json', 'application/yaml']
const builtInTypes = [...customTypes, 'application/vnd.kubernetes.protobuf']

export const unknownMediaType = (accepted: readonly string[] = builtInTypes) =>
  unsupportedMediaType(
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  )

/** `application/json; charset=utf-8` → `application/json`. */
export function mediaType(contentType: string | undefined): string {
  if (contentType === undefined || contentType === '' || contentType === 'application/json') return 'application/json'
  const end = contentType.indexOf(';')
  return (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase()
}

/** Reads the object of a create or update; what Warn tells goes to `warn`. */
export async function readObject(
  definition: ResourceDefinition,
  { bytes, contentType }: RawBody,
  { fieldValidation, limits, warn }: { fieldValidation: FieldValidation; limits: WorkLimits; warn(text: string): void },
): Promise<KubeObject> {
  // There is no protobuf form of what only a schema describes.
  if (definition.custom && !customTypes.includes(mediaType(contentType))) throw unknownMediaType(customTypes)
  const maxValues = limits.bodyValues
  const reading = readBodyAs({ bytes, contentType }, { kind: definition.kind, fieldValidation, maxValues })
  const { body, text, strictErrors } = reading instanceof Promise ? await reading : reading
  const reset = resetsManagedFields(body)
  const decoded = decodeBody(definition, body, { fieldValidation, text, strictErrors, maxValues })
  warnOf(decoded.strictErrors, warn)
  if (reset) decoded.object.metadata.managedFields = []
  return decoded.object
}

export interface ParsedBody {
  body: Record<string, unknown>
  /** The JSON text, in which duplicate fields can be found. */
  text?: string
  strictErrors?: string[]
}

interface Reading {
  kind: string
  fieldValidation: FieldValidation
  maxValues: number
}

/** The body as plain data, a promise of it where its parser is loaded first; `kind` is what error messages call it. */
export function readBodyAs({ bytes, contentType }: RawBody, reading: Reading): ParsedBody | Promise<ParsedBody> {
  switch (mediaType(contentType)) {
    case 'application/json': {
      const text = bytes.toString('utf8')
      const { kind, maxValues } = reading
      return { body: assertObjectBody(parseJsonBody(text, kind, maxValues), text, kind), text }
    }
    case 'application/yaml':
      return readYaml(bytes.toString('utf8'), reading)
    case 'application/vnd.kubernetes.protobuf':
      return readProtobuf(bytes, reading)
    default:
      throw unknownMediaType()
  }
}

async function readYaml(text: string, { kind, fieldValidation, maxValues }: Reading): Promise<ParsedBody> {
  const { value, duplicates } = await yamlOf(text, kind, maxValues)
  const strictErrors = fieldValidation === 'Ignore' ? [] : duplicates
  return { body: assertObjectBody(value, text, kind), strictErrors }
}

async function yamlOf(
  text: string,
  kind: string,
  maxValues: number,
): Promise<{ value: unknown; duplicates: string[] }> {
  try {
    return await parseYaml(text, maxValues)
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    throw unrecognized(kind, error.message, Buffer.from(text))
  }
}

async function readProtobuf(bytes: Buffer, { kind, maxValues }: Reading): Promise<ParsedBody> {
  const { decodeProtobuf, ProtobufError } = await import('../../protobuf/decode.ts')
  try {
    return { body: decodeProtobuf(bytes, undefined, maxValues) as Record<string, unknown> }
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error
    throw unrecognized(kind, error.message, bytes)
  }
}

const shownBytes = 30

function unrecognized(kind: string, why: string, bytes: Buffer) {
  const beginning = bytes.subarray(0, shownBytes)
  const text = beginning.toString(beginning[0] === 0x7b ? 'utf8' : 'hex')
  const shown = `${text === '' ? '<empty>' : text}${bytes.length > shownBytes ? ' ...' : ''}`
  return badRequest(`the object provided is unrecognized (must be of type ${kind}): ${why} (${shown})`)
}
