import { StatusError } from '../../shared/api/status-error.ts'
import { badRequest, requestEntityTooLarge, unsupportedMediaTypeRoute } from '../../shared/api/status-errors.ts'
import { conversionError } from '../patch/from-unstructured.ts'
import { applyJsonPatch, JsonPatchError, type JsonPatchOperation } from '../patch/json-patch.ts'
import { applyMergePatch } from '../patch/merge-patch.ts'
import { strategicMerge } from '../patch/strategic-merge.ts'
import { printValue } from '../patch/structured-merge/go-print.ts'
import { scanJson } from '../validation/json-scanner.ts'
import type { FieldValidation } from '../validation/request-body.ts'
import { mediaType } from './request-object.ts'

/** A patch that has been read, of any type but apply. */
export interface Patch {
  /** The patched document; the argument (versioned JSON with kind and apiVersion) may be changed. */
  apply(document: Record<string, unknown>): unknown
  /** What a strict reader says about the patch itself. */
  strictErrors: string[]
}

export type PatchMediaType = keyof typeof readers | 'application/apply-patch+yaml'

export function patchMediaType(contentType: string | undefined): PatchMediaType {
  const type = mediaType(contentType)
  if (Object.hasOwn(readers, type) || type === 'application/apply-patch+yaml') return type as PatchMediaType
  throw unsupportedMediaTypeRoute()
}

export function readPatch(
  type: Exclude<PatchMediaType, 'application/apply-patch+yaml'>,
  text: string,
  { schema, fieldValidation }: { schema: string; fieldValidation: FieldValidation },
): Patch {
  let patch: unknown
  try {
    patch = JSON.parse(text)
  } catch {
    throw badRequest(`error decoding patch: ${scanJson(text).error ?? 'unexpected end of JSON input'}`)
  }
  const read = readers[type](patch, schema)
  if (fieldValidation === 'Ignore') return { ...read, strictErrors: [] }
  return { ...read, strictErrors: [...duplicatesIn(type, text), ...read.strictErrors] }
}

function duplicatesIn(type: string, text: string): string[] {
  const prefix = type === 'application/json-patch+json' ? 'json patch ' : ''
  return scanJson(text).duplicates.map((path) => `${prefix}duplicate field "${path}"`)
}

const readers = {
  'application/json-patch+json': readJsonPatch,
  'application/merge-patch+json': readMergePatch,
  'application/strategic-merge-patch+json': readStrategicMergePatch,
}

const maxOperations = 10_000
const members = new Set(['op', 'path', 'from', 'value'])

function readJsonPatch(patch: unknown): Patch {
  if (patch !== null && !Array.isArray(patch)) {
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${word(patch)} into Go value of type []handlers.jsonPatchOp`,
    )
  }
  const operations = (patch ?? []) as JsonPatchOperation[]
  if (operations.length > maxOperations) {
    throw requestEntityTooLarge(
      `Request entity too large: The allowed maximum operations in a JSON patch is ${maxOperations}, got ${operations.length}`,
    )
  }
  const unknown = operations.flatMap((operation, index) =>
    Object.keys(operation ?? {})
      .filter((name) => !members.has(name))
      .map((name) => `json patch unknown field "[${index}].${name}"`),
  )
  return {
    strictErrors: unknown,
    apply(document) {
      try {
        return applyJsonPatch(document, operations)
      } catch (error) {
        if (error instanceof JsonPatchError) throw refused()
        throw error
      }
    },
  }
}

/** The library's reasons are lost on the way to the client. */
const refused = () =>
  new StatusError({
    code: 422,
    reason: 'Invalid',
    message: 'the server rejected our request due to an error in our request',
    details: {},
  })

function readMergePatch(patch: unknown): Patch {
  if (patch === null) throw badRequest('Invalid JSON Patch')
  assertObject(patch)
  return { strictErrors: [], apply: (document) => applyMergePatch(document, patch) }
}

function readStrategicMergePatch(patch: unknown, schema: string): Patch {
  if (patch !== null) assertObject(patch)
  const changes = (patch ?? {}) as Record<string, unknown>
  return {
    strictErrors: [],
    apply(document) {
      const merged = strategicMerge(document, changes, schema)
      const wrong = conversionError(schema, merged)
      if (wrong) throw invalidPatch(printValue(patch), wrong)
      return merged
    },
  }
}

function assertObject(patch: unknown): void {
  if (typeof patch === 'object' && !Array.isArray(patch)) return
  throw badRequest(
    `error decoding patch: json: cannot unmarshal ${word(patch)} into Go value of type map[string]interface {}`,
  )
}

/** What a patch makes of an object is no such object. */
export function invalidPatch(value: string, why: string): StatusError {
  const message = `Invalid value: ${JSON.stringify(value)}: ${why}`
  return new StatusError({
    code: 422,
    reason: 'Invalid',
    message: ` "" is invalid: patch: ${message}`,
    details: { causes: [{ reason: 'FieldValueInvalid', message, field: 'patch' }] },
  })
}

const word = (value: unknown): string =>
  Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value
