import { parseExact, toJson } from '../../../shared/api/json/exact-json.ts'
import { StatusError } from '../../../shared/api/status/status-error.ts'
import {
  badRequest,
  requestEntityTooLarge,
  unsupportedMediaTypeRoute,
} from '../../../shared/api/status/status-errors.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import { conversionError } from '../../patch/from-unstructured.ts'
import { applyJsonPatch, JsonPatchError, type JsonPatchOperation } from '../../patch/json-patch.ts'
import { applyMergePatch } from '../../patch/merge-patch.ts'
import { inOrderOfFields, quoteJsonPatched, quoteMerged } from '../../patch/patched-text.ts'
import { strategicMerge } from '../../patch/strategic-merge.ts'
import { printValue } from '../../patch/structured-merge/go-print.ts'
import { checkJsonValues } from '../../validation/body-values.ts'
import { scanJson } from '../../validation/json-scanner.ts'
import { jsonWord } from '../../validation/json-word.ts'
import { type FieldValidation, findingsIn } from '../../validation/request-body.ts'
import { firstErrors } from '../../validation/strict-errors.ts'
import { isMap, own } from '../../values/json-map.ts'
import { unknownMediaType } from './request-object.ts'

/** A patch that has been read, of any type but apply. */
export interface Patch extends ReadPatch {
  /** The patch may have a number that is not written as an integer. */
  fractions: boolean
}

interface ReadPatch {
  /** The patched document; the argument (versioned JSON with kind and apiVersion) may be changed. */
  apply(document: Record<string, unknown>): unknown
  /** Lists what a strict reader reports about the patch itself. */
  strictErrors: string[]
  /** Applies the patch to the object and formats the result as messages quote it. */
  quote(object: Record<string, unknown>): string
  /** Returns whether `apply` may change a member of the document. Absent: it may change all of them. */
  changes?(member: string): boolean
  /** Unknown fields are told of in their order, not in that of the document. */
  sortsProblems?: boolean
}

export type PatchMediaType = keyof typeof readers | 'application/apply-patch+yaml'

const customTypes = ['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml']
const builtInTypes = customTypes.toSpliced(2, 0, 'application/strategic-merge-patch+json')

export function patchMediaType(contentType: string | undefined, { custom }: ResourceDefinition): PatchMediaType {
  const [type = ''] = (contentType ?? '').split(';')
  const types = custom ? customTypes : builtInTypes
  if (types.includes(type)) return type as PatchMediaType
  // The router of built-in kinds takes a list of types for each of them.
  const isRouted = custom || type.split(',').some((one) => types.includes(one.trim()))
  throw isRouted ? unknownMediaType(types) : unsupportedMediaTypeRoute()
}

export function readPatch(
  type: Exclude<PatchMediaType, 'application/apply-patch+yaml'>,
  text: string,
  { schema, fieldValidation, maxValues }: { schema: string; fieldValidation: FieldValidation; maxValues: number },
): Patch {
  checkJsonValues(text, maxValues)
  let patch: unknown
  try {
    patch = parseExact(text)
  } catch {
    throw badRequest(`${decoding(type)}${scanJson(text).error ?? 'unexpected end of JSON input'}`)
  }
  const read = readers[type](patch, { text, schema, maxValues })
  const { duplicates, fractions } = findingsIn(text, patch)
  if (fieldValidation === 'Ignore') return { ...read, fractions, strictErrors: [] }
  const prefix = type === 'application/json-patch+json' ? 'json patch ' : ''
  const strictErrors = [...duplicates.map((message) => prefix + message), ...read.strictErrors]
  return { ...read, fractions, strictErrors }
}

const readers = {
  'application/json-patch+json': readJsonPatch,
  'application/merge-patch+json': readMergePatch,
  'application/strategic-merge-patch+json': readStrategicMergePatch,
}

interface Source {
  text: string
  schema: string
  maxValues: number
}

/** Reads an operation as Go reads it into a struct; null is an empty one. */
function readOperation(operation: unknown): JsonPatchOperation {
  if (operation === null) return {}
  const refuse = (value: unknown, where: string): never => {
    throw badRequest(`error decoding patch: json: cannot unmarshal ${jsonWord(value)} into Go ${where}`)
  }
  if (!isMap(operation)) return refuse(operation, 'value of type handlers.jsonPatchOp')
  for (const name of ['op', 'path', 'from']) {
    const value = own(operation, name)
    if (value !== undefined && value !== null && typeof value !== 'string')
      refuse(value, `struct field jsonPatchOp.${name} of type string`)
  }
  return operation
}

const maxOperations = 10_000
const members = new Set(['op', 'path', 'from', 'value'])

function readJsonPatch(patch: unknown, { text, schema, maxValues }: Source): ReadPatch {
  if (patch !== null && !Array.isArray(patch)) {
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${jsonWord(patch)} into Go value of type []handlers.jsonPatchOp`,
    )
  }
  const operations = (patch ?? []).map(readOperation)
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
    strictErrors: firstErrors(unknown),
    quote: (object) => quoteJsonPatched(toJson(inOrderOfFields(object, schema)), text),
    apply(document) {
      try {
        return applyJsonPatch(ofOwnFields(document, operations), operations, maxValues)
      } catch (error) {
        if (error instanceof JsonPatchError) throw refused()
        throw error
      }
    },
  }
}

/** Operations can reach into the sets of fields, which are shared. */
function ofOwnFields(document: unknown, operations: readonly JsonPatchOperation[]): unknown {
  const reaches = ({ path, from }: JsonPatchOperation): boolean => `${path} ${from}`.includes('managedFields')
  return operations.some(reaches) ? structuredClone(document) : document
}

/** The library's reasons are lost on the way to the client. */
const refused = () =>
  new StatusError({
    code: 422,
    reason: 'Invalid',
    message: 'the server rejected our request due to an error in our request',
    details: {},
  })

function readMergePatch(patch: unknown, { text, schema }: Source): ReadPatch {
  if (patch === null) throw badRequest('Invalid JSON Patch')
  assertObject(patch, mergePatch)
  return {
    strictErrors: [],
    apply: (document) => applyMergePatch(document, patch),
    changes: (member) => Object.hasOwn(patch as object, member),
    quote: (object) => quoteMerged(toJson(inOrderOfFields(object, schema)), text),
  }
}

function readStrategicMergePatch(patch: unknown, { schema }: Source): ReadPatch {
  if (patch !== null) assertObject(patch, strategicPatch)
  const changes = (patch ?? {}) as Record<string, unknown>
  return {
    strictErrors: [],
    quote: () => printValue(patch),
    sortsProblems: true,
    ...(!Object.keys(changes).some((key) => key.startsWith('$')) && {
      changes: (member: string) => Object.hasOwn(changes, member),
    }),
    apply(document) {
      const { kind, apiVersion } = document
      const merged = { ...strategicMerge(document, changes, schema), kind, apiVersion } // what it is no patch changes
      const wrong = conversionError(schema, merged, document)
      if (wrong) throw invalidPatch(printValue(patch), wrong)
      return merged
    },
  }
}

const mergePatch = 'application/merge-patch+json'
const strategicPatch = 'application/strategic-merge-patch+json'
const decoding = (type: string): string => (type === strategicPatch ? '' : 'error decoding patch: ')

function assertObject(patch: unknown, type: string): void {
  if (typeof patch === 'object' && !Array.isArray(patch)) return
  throw badRequest(
    `${decoding(type)}json: cannot unmarshal ${jsonWord(patch)} into Go value of type map[string]interface {}`,
  )
}

/** Makes the error (422) for a patch whose result is not an object of the kind. */
export function invalidPatch(value: string, why: string): StatusError {
  const message = `Invalid value: ${toJson(value)}: ${why}`
  return new StatusError({
    code: 422,
    reason: 'Invalid',
    message: ` "" is invalid: patch: ${message}`,
    details: { causes: [{ reason: 'FieldValueInvalid', message, field: 'patch' }] },
  })
}
