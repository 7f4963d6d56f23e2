import { parseExact, toJson } from '../../../shared/api/json/exact-json.ts'
import { internalError } from '../../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import { applyJsonPatch, JsonPatchError, type JsonPatchOperation } from '../../patch/json-patch.ts'
import type { AdmissionAttributes } from '../../registry/admission-plugin.ts'
import { replaceContent } from '../../registry/writes/replace-content.ts'
import { DecodeError, decodeObject } from '../../validation/decoder.ts'
import { scanJson } from '../../validation/json-scanner.ts'
import type { WorkLimits } from '../../work-limits.ts'
import { convertObject, seenObjects } from '../seen-object.ts'

/** Parses a webhook's JSON patch. Throws a StatusError (500) if the text is neither a JSON list nor null. */
export function readPatch(patch: string): JsonPatchOperation[] {
  let operations: unknown
  try {
    operations = parseExact(patch)
  } catch {
    throw internalError(scanJson(patch).error ?? 'unexpected end of JSON input')
  }
  if (operations === null) return []
  if (!Array.isArray(operations)) {
    throw internalError(`json: cannot unmarshal ${typeof operations} into Go value of type jsonpatch.Patch`)
  }
  return operations
}

export interface PatchContext {
  limits: WorkLimits
  applyDefaults(definition: ResourceDefinition, object: KubeObject): void
}

/**
 * Applies a webhook's patch to the object of a write, in place, and resolves to whether the patch changed anything.
 * Rejects with a StatusError.
 */
export async function patchObject(
  attributes: AdmissionAttributes,
  matched: ResourceDefinition,
  operations: readonly JsonPatchOperation[],
  { limits: { bodyValues }, applyDefaults }: PatchContext,
): Promise<boolean> {
  const { definition, view, object } = attributes
  const before = toJson((await seenObjects(attributes, matched)).object)
  const patched = patchedDocument(parseExact(before), operations, bodyValues)
  if (toJson(patched) === before) return false
  if (view) {
    view.change(object!, patched as KubeObject)
    return true
  }
  const decoded = decode(matched, patched, bodyValues)
  applyDefaults(matched, decoded)
  replaceContent(object!, await convertObject(decoded, matched, definition))
  return true
}

function patchedDocument(document: unknown, operations: readonly JsonPatchOperation[], maxValues: number): unknown {
  try {
    return applyJsonPatch(document, operations, maxValues)
  } catch (error) {
    if (error instanceof JsonPatchError) throw internalError(error.message)
    throw error
  }
}

function decode(definition: ResourceDefinition, document: unknown, maxValues: number): KubeObject {
  try {
    return decodeObject(definition, document, maxValues).object
  } catch (error) {
    if (error instanceof DecodeError) throw internalError(error.message)
    throw error
  }
}
