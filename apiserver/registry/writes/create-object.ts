import { randomUUID } from 'node:crypto'
import { alreadyExists, generatedNameTaken } from '../../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import { toTime } from '../../../shared/clock/timestamp.ts'
import { trackFields } from '../../kind/field-manager.ts'
import type { StrategyContext } from '../../kind/resource-definition.ts'
import { errorsAsWritten } from '../../validation/emptied.ts'
import { invalidObject } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { dns1123Subdomain } from '../../validation/names.ts'
import { validateObjectMeta } from '../../validation/object-meta.ts'
import { copy } from '../../values/json-map.ts'
import type { AdmissionAttributes } from '../admission-plugin.ts'
import { objectKey } from '../keys.ts'
import { asShown, encodeWrite, type StoredObject } from '../stored-object.ts'
import type { RequestScope, WriteOptions } from '../write-context.ts'
import { allocatesByName, writeAllocated } from './allocated-write.ts'
import {
  checkAdmittedObject,
  checkNewObject,
  checkNoResourceVersion,
  fillSystemFields,
  forgetDeletion,
} from './before-create.ts'
import { generateName } from './generate-name.ts'
import { afterAdmission, dedupOwners } from './owner-references.ts'
import { warnOfReason } from './termination-reason.ts'
import type { WritePath } from './write-path.ts'

/** A create fails after this many generated names were taken. */
const maxGeneratedNames = 8

/**
 * Creates an object as upstream's Create does. `object` is decoded and defaulted, and may be changed. Throws a
 * StatusError: 409 if the name is taken, 422 if the object is invalid, or what admission throws.
 */
export async function createObject(
  registry: WritePath,
  scope: RequestScope,
  object: KubeObject,
  options: WriteOptions,
): Promise<StoredObject> {
  const { definition, namespace, subresource, user } = scope
  checkNewObject(scope, object)
  dedupOwners(object, options.warn)
  const { resourceVersion } = object.metadata
  forgetDeletion(object)
  const system = { uid: randomUUID(), now: toTime(registry.clock.now()) }
  noteOwner(scope, object, options, system.now)
  warnOfReason(object, options.warn)
  fillSystemFields(scope, object, system)
  const { dryRun, warn, annotate } = options
  const attributes: AdmissionAttributes = {
    operation: 'CREATE',
    definition,
    subresource,
    namespace,
    name: object.metadata.name ?? '',
    object,
    user,
    dryRun,
    options: options.asked && { kind: 'CreateOptions', ...options.asked },
    warn,
    annotate,
  }
  const admitting = registry.admit(attributes)
  if (admitting) {
    await admitting
    checkAdmittedObject(scope, object, system)
    dedupOwners(object, warn, afterAdmission)
  }
  const { metadata } = object
  if (definition.strategy.generation) metadata.generation = 1
  const context = registry.strategyContext(scope, { dryRun })
  const generated = !metadata.name && metadata.generateName !== undefined && metadata.generateName !== ''
  const isNamedFirst = generated && (definition.strategy.usesName || allocatesByName(definition, context))
  const tries = generated && !isNamedFirst ? maxGeneratedNames : 1
  const newName = (): string => generateName(metadata.generateName!, registry.random)
  if (isNamedFirst) metadata.name = newName()
  const errors: FieldErrors = []
  const beginning = definition.strategy.begin?.(object, undefined, errors, context)
  const allocation = beginning && (await beginning)

  const store = async (): Promise<StoredObject> => {
    refuseIfWrong(registry, scope, object, errors)
    definition.strategy.prepareForCreate?.(object, context)
    for (let attempt = 1; ; attempt++) {
      if (generated && !isNamedFirst) metadata.name = newName()
      definition.strategy.canonicalize?.(object)
      if (attempt === 1) {
        validate(registry, scope, object, context)
        for (const text of definition.strategy.warnings?.(object, undefined, context) ?? []) warn(text)
        const validating = registry.validateAdmission(attributes)
        if (validating) await validating
        if (!dryRun) checkNoResourceVersion(resourceVersion)
      }
      const stored = await put(registry, scope, object, { ...options, resourceVersion })
      if (stored) return stored
      if (attempt < tries) continue
      throw taken(registry, scope, metadata)
    }
  }
  return allocation ? (await writeAllocated(allocation, store))! : store()
}

/** Sets the managedFields. The object has a spec of its own then, which may be changed. */
function noteOwner({ definition, subresource }: RequestScope, object: KubeObject, options: WriteOptions, time: string) {
  const { fieldManager: manager, managedFieldsAreSet } = options
  if (!managedFieldsAreSet) trackFields(definition, undefined, object, { manager, subresource, time })
  const { spec } = object
  if (typeof spec === 'object' && Object.isFrozen(spec)) object.spec = copy(spec)
}

function validate(registry: WritePath, scope: RequestScope, object: KubeObject, context: StrategyContext): void {
  const { strategy, namespaced } = scope.definition
  const { unqualifiedFinalizers = false } = strategy
  const validateName = strategy.nameRuleOf?.(object) ?? strategy.validateName ?? dns1123Subdomain
  const check = (): FieldErrors => {
    const errors: FieldErrors = []
    validateObjectMeta(object.metadata, { namespaced, validateName, unqualifiedFinalizers }, errors)
    strategy.validate?.(object, errors, context)
    return errors
  }
  refuseIfWrong(registry, scope, object, errorsAsWritten(object, check(), check))
}

function refuseIfWrong(
  { limits }: WritePath,
  { definition: { group, kind, conversion } }: RequestScope,
  { metadata }: KubeObject,
  errors: FieldErrors,
): void {
  if (errors.length === 0) return
  throw invalidObject(
    { group: conversion?.storageGroup ?? group, kind },
    metadata.name ?? '',
    errors,
    limits.causeBytes,
  )
}

/** Returns undefined when the name is taken. */
async function put(
  registry: WritePath,
  { definition, namespace }: RequestScope,
  object: KubeObject,
  { dryRun, fence, resourceVersion }: WriteOptions & { resourceVersion: string | undefined },
): Promise<StoredObject | undefined> {
  const key = objectKey(definition, namespace, object.metadata.name!)
  const cache = registry.cacheOf(definition)
  const encoding = encodeWrite(definition, object, registry.limits.objectBytes)
  const { value, parts } = encoding instanceof Promise ? await encoding : encoding
  // Upstream keeps the version that a client sends.
  const sent = Number(resourceVersion) || undefined
  if (dryRun) return cache.get(key) ? undefined : asShown(definition, { value, parts, revision: sent })
  cache.expect(key, value, object)
  const result = await registry.storage.put({ key, value, parts, expect: 'absent', fence })
  return result.ok ? asShown(definition, { value, parts, revision: result.revision }) : undefined
}

function taken(registry: WritePath, { definition, namespace }: RequestScope, metadata: KubeObject['metadata']) {
  const name = metadata.name!
  const deleting = registry.lookup(definition, namespace, name)?.metadata.deletionTimestamp !== undefined
  const error = metadata.generateName ? generatedNameTaken : alreadyExists
  return error(definition, name, deleting ? 'object is being deleted: ' : '')
}
