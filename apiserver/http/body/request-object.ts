import { badRequest, unsupportedMediaType } from '../../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import { resetsManagedFields } from '../../patch/managed-fields.ts'
import type { Decoded } from '../../validation/decoder.ts'
import { hasEmptied } from '../../validation/emptied.ts'
import { assertObjectBody, decodeBody, type FieldValidation, parseJsonBody } from '../../validation/request-body.ts'
import { warnOf } from '../../validation/strict-errors.ts'
import type { WorkLimits } from '../../work-limits.ts'
import { RecurringSpecs } from './recurring-specs.ts'
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
  const [type = '', ...parameters] = contentType.split(';')
  // Go takes none of a header in which a parameter has no value.
  const isRead = parameters.every((parameter) => parameter.trim() === '' || parameter.includes('='))
  return isRead ? type.trim().toLowerCase() : contentType
}

interface ReadOptions {
  fieldValidation: FieldValidation
  limits: WorkLimits
  /** Receives what Warn tells. */
  warn(text: string): void
}

export async function readObject(
  definition: ResourceDefinition,
  { bytes, contentType }: RawBody,
  options: ReadOptions,
): Promise<KubeObject> {
  // There is no protobuf form of what only a schema describes.
  if (definition.custom && !customTypes.includes(mediaType(contentType))) throw unknownMediaType(customTypes)
  const { fieldValidation, limits } = options
  const reading = { kind: definition.kind, fieldValidation, maxValues: limits.bodyValues }
  const parsed = readBodyAs({ bytes, contentType }, reading)
  return decoded(definition, parsed instanceof Promise ? await parsed : parsed, options).object
}

function decoded(
  definition: ResourceDefinition,
  { body, text, strictErrors }: ParsedBody,
  options: ReadOptions,
): Decoded {
  const { fieldValidation, limits, warn } = options
  const reset = resetsManagedFields(body)
  const found = decodeBody(definition, body, { fieldValidation, text, strictErrors, maxValues: limits.bodyValues })
  warnOf(found.strictErrors, warn)
  if (reset) found.object.metadata.managedFields = []
  return found
}

export interface NewObject {
  object: KubeObject
  /** Must be called when the object has its defaults. */
  isComplete?(): void
}

/**
 * Reads the object of a create, as {@link readObject}. Where the kind shares specs, and that of the object is known, it
 * is frozen and has its defaults.
 */
export async function readNewObject(
  definition: ResourceDefinition,
  raw: RawBody,
  options: ReadOptions,
): Promise<NewObject> {
  const { fieldValidation, limits } = options
  const isShort = RecurringSpecs.mayRead(raw.bytes.length, limits.bodyValues)
  if (!definition.strategy.sharesSpec || !isShort || mediaType(raw.contentType) !== 'application/json')
    return { object: await readObject(definition, raw, options) }
  const specs = specsOf(definition)
  const text = raw.bytes.toString('utf8')
  const known = specs.read(text)
  if (known) return { object: decoded(definition, { body: known }, options).object }
  const { object, strictErrors } = decoded(definition, parseBody(text, definition.kind, limits.bodyValues), options)
  if (strictErrors.length > 0 || fieldValidation === 'Ignore' || hasEmptied(object)) return { object }
  return { object, isComplete: () => specs.learn(text, object.spec) }
}

const specsByDefinition = new WeakMap<ResourceDefinition, RecurringSpecs>()

function specsOf(definition: ResourceDefinition): RecurringSpecs {
  let specs = specsByDefinition.get(definition)
  if (!specs) {
    specs = new RecurringSpecs(definition)
    specsByDefinition.set(definition, specs)
  }
  return specs
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
    case 'application/json':
      return parseBody(bytes.toString('utf8'), reading.kind, reading.maxValues)
    case 'application/yaml':
      return readYaml(bytes.toString('utf8'), reading)
    case 'application/vnd.kubernetes.protobuf':
      return readProtobuf(bytes, reading)
    default:
      throw unknownMediaType()
  }
}

const parseBody = (text: string, kind: string, maxValues: number): ParsedBody => ({
  body: assertObjectBody(parseJsonBody(text, kind, maxValues), text, kind),
  text,
})

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
