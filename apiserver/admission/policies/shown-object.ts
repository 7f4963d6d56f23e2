import { parseExact, toJson } from '../../../shared/api/json/exact-json.ts'
import { internalError } from '../../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import { convertDyn } from '../../cel/dyn-values.ts'
import type { Variables } from '../../cel/request-expression.ts'
import { mergeType } from '../../kind/field-manager.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import { conversionError } from '../../patch/from-unstructured.ts'
import type { Type } from '../../patch/structured-merge/schema.ts'
import type { AdmissionAttributes } from '../../registry/admission-plugin.ts'
import { replaceContent } from '../../registry/writes/replace-content.ts'
import { type Decodable, DecodeError, decodeObject } from '../../validation/decoder.ts'
import { deepEqual } from '../../values/deep-equal.ts'
import { isMap, type JsonMap } from '../../values/json-map.ts'
import type { WorkLimits } from '../../work-limits.ts'
import { requestVariables } from '../cel/match-conditions.ts'
import { convertObject, type SeenObjects, seenObjects } from '../seen-object.ts'
import { printKind } from './apply-configuration.ts'
import { PatchProblem } from './patch-problem.ts'
import { kindOfView } from './view-kinds.ts'

export interface ShownContext {
  limits: WorkLimits
  applyDefaults(definition: ResourceDefinition, object: KubeObject): void
}

/** The object of a write in one version, as mutating policies see it and change it. */
export class ShownObject {
  readonly #attributes: AdmissionAttributes
  readonly #matched: ResourceDefinition
  readonly #context: ShownContext
  #json: JsonMap | undefined
  #variables: Variables
  #isDirty = false

  /** Rejects with a StatusError if the object cannot be converted to the version. */
  static async of(
    attributes: AdmissionAttributes,
    matched: ResourceDefinition,
    context: ShownContext,
  ): Promise<ShownObject> {
    const seen = await seenObjects(attributes, matched)
    return new ShownObject(attributes, matched, context, seen)
  }

  private constructor(
    attributes: AdmissionAttributes,
    matched: ResourceDefinition,
    context: ShownContext,
    seen: SeenObjects,
  ) {
    this.#attributes = attributes
    this.#matched = matched
    this.#context = context
    this.#json = (seen.object as JsonMap | null) ?? undefined
    this.#variables = requestVariables(attributes, matched, seen)
  }

  /**
   * Returns the object, which callers must not change; undefined if the request has none. It is another one after each
   * change.
   */
  get json(): JsonMap | undefined {
    return this.#json
  }
  /** Returns what expressions see: the request and its objects. */
  get variables(): Variables {
    return this.#variables
  }
  get #decodable(): Decodable | undefined {
    const { view } = this.#attributes
    return view ? kindOfView(view) : this.#matched
  }
  /** The type for structured merge; undefined for a kind without a schema. */
  get type(): Type | undefined {
    const { view } = this.#attributes
    if (!view) return mergeType(this.#matched)
    // Upstream looks in the schemas of the kind's own group and version, and a resource is in another one.
    const { group, version } = this.#matched
    return view.group === group && view.version === version ? kindOfView(view)?.type : undefined
  }

  differsFrom(before: JsonMap | undefined): boolean {
    return this.#json !== before && !deepEqual(this.#json, before)
  }

  /**
   * Takes what an expression has laid over the object, which may share values with it. Throws an Error if the result is
   * not of the kind.
   */
  takeMerged(merged: JsonMap): void {
    const decodable = this.#decodable
    const wrong = decodable && !decodable.custom ? conversionError(decodable.schema, merged, this.#json) : undefined
    if (wrong !== undefined)
      throw new PatchProblem(`unable to convert unstructured object to ${printKind(this.#json!)}: ${wrong}`)
    this.#take(merged, (why) => new PatchProblem(why))
  }

  /** Takes the document that a JSON patch leads to. Throws a StatusError (500) if it is not of the kind. */
  takePatched(document: unknown): void {
    if (!this.#decodable?.custom) checkKind(document, this.#json!)
    this.#take(document, (why) => internalError(why))
  }
  /** Returns a copy for a JSON patch. */
  document(): unknown {
    return parseExact(toJson(this.#json))
  }

  #take(document: unknown, refusal: (why: string) => Error): void {
    const { limits, applyDefaults } = this.#context
    const decodable = this.#decodable ?? this.#matched
    const object = decoded(decodable, document, { maxValues: limits.bodyValues, before: this.#json!, refusal })
    if (!this.#attributes.view) applyDefaults(this.#matched, object)
    const { apiVersion, kind } = this.#json!
    this.#json = { apiVersion, kind, ...object }
    this.#variables = { ...this.#variables, object: convertDyn(this.#json) }
    this.#isDirty = true
  }

  /** Makes the changes in the object of the request. Rejects with a StatusError if it cannot be converted. */
  async save(): Promise<void> {
    const { view, object, definition } = this.#attributes
    if (!this.#isDirty || !this.#json || !object) return
    if (view) {
      view.change(object, this.#json as unknown as KubeObject)
      return
    }
    const { apiVersion: _, kind: __, ...content } = this.#json
    replaceContent(object, await convertObject(content as unknown as KubeObject, this.#matched, definition))
  }
}

/** Throws a StatusError (500) if a patch has changed the kind. */
function checkKind(document: unknown, { apiVersion, kind }: JsonMap): void {
  if (!isMap(document) || (document.apiVersion === apiVersion && document.kind === kind)) return
  throw internalError(
    `no kind "${document.kind ?? ''}" is registered for version "${document.apiVersion ?? ''}" in scheme "pkg/runtime/scheme.go:111"`,
  )
}

function decoded(
  decodable: Decodable,
  document: unknown,
  { maxValues, before, refusal }: { maxValues: number; before: JsonMap; refusal(why: string): Error },
): KubeObject {
  try {
    const { object, strictErrors } = decodeObject(decodable, document, maxValues, before)
    if (strictErrors.length > 0 && !decodable.custom) throw refusal(`strict decoding error: ${strictErrors.join(', ')}`)
    return object
  } catch (error) {
    if (error instanceof DecodeError) throw refusal(error.message)
    throw error
  }
}
