/** Objects of one kind and what field management makes of writes to them: a registry of one shelf. */

import { defaultResetFields } from '../../../apiserver/kind/reset-fields.ts'
import { apply, updateManagedFields } from '../../../apiserver/patch/apply.ts'
import { isReset, type ManagedFieldsEntry } from '../../../apiserver/patch/managed-fields.ts'
import type { ManagedKind } from '../../../apiserver/patch/managed-kind.ts'
import { builtInType } from '../../../apiserver/patch/structured-merge/built-in.ts'
import { decodeObject } from '../../../apiserver/validation/decoder.ts'
import type { JsonMap } from '../../../apiserver/values/json-map.ts'
import { defaultWorkLimits } from '../../../apiserver/work-limits.ts'
import type { KubeObject } from '../../../shared/api/types.ts'

export type Json = JsonMap & { metadata?: JsonMap }

export class Stage {
  readonly schema: string
  readonly kind: ManagedKind
  live: KubeObject | undefined
  #seconds = 0
  constructor(schema: string, { hasStatus = false } = {}) {
    const [kind = '', version = '', group = ''] = schema.split('.').reverse()
    this.schema = schema
    this.kind = {
      apiVersion: group === 'core' ? version : `${group}/${version}`,
      kind,
      type: builtInType(schema),
      resetFields: (subresource) => defaultResetFields({ hasStatus, statusKeepsMetadata: false }, subresource),
    }
  }

  /** A create or update by `manager`. */
  write(manager: string, body: Json, subresource?: string): KubeObject {
    const { object } = decodeObject({ schema: this.schema }, structuredClone(body))
    if (isReset(body.metadata?.managedFields)) object.metadata.managedFields = []
    updateManagedFields(this.kind, this.live as unknown as Json, object as unknown as Json, {
      manager,
      time: this.#time(),
      ...(subresource && { subresource }),
    })
    return this.#store(object)
  }

  apply(manager: string, config: Json, { force = false, subresource = '' } = {}): KubeObject {
    const merged = apply(this.kind, structuredClone(this.live) as unknown as Json, structuredClone(config), {
      manager,
      force,
      maxCauseBytes: defaultWorkLimits.causeBytes,
      time: this.#time(),
      ...(subresource && { subresource }),
    })
    return this.#store(decodeObject({ schema: this.schema }, merged).object)
  }

  get managedFields(): ManagedFieldsEntry[] {
    return (this.live?.metadata.managedFields ?? []) as ManagedFieldsEntry[]
  }

  /** Later entries are younger by a second. */
  tick(): void {
    this.#seconds++
  }

  #time = () => `2026-01-01T00:00:${String(this.#seconds % 60).padStart(2, '0')}Z`

  #store(object: KubeObject): KubeObject {
    this.live = JSON.parse(JSON.stringify(object)) as KubeObject
    return this.live
  }
}
