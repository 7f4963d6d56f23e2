import { badRequest, plainError } from '../../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import type { RequestScope } from '../write-context.ts'

interface SystemValues {
  uid: string
  now: string
}

/** Throws a StatusError (400) if the object names another namespace than the request. */
export function checkNewObject({ definition, namespace }: RequestScope, { metadata }: KubeObject): void {
  if (definition.namespaced && metadata.namespace && metadata.namespace !== namespace) throw otherNamespace()
}

/**
 * Checks the object again after admission, as {@link checkNewObject} did before. What the server has set stays,
 * whatever admission made of it. Upstream: rest.FillObjectMetaSystemFields and rest.BeforeCreate.
 */
export function checkAdmittedObject(scope: RequestScope, object: KubeObject, { uid, now }: SystemValues): void {
  object.metadata ??= {}
  const { metadata } = object
  checkNewObject(scope, object)
  metadata.namespace = scope.definition.namespaced ? scope.namespace : undefined
  metadata.uid = uid
  metadata.creationTimestamp = now
  metadata.resourceVersion = undefined
  forgetDeletion(object)
}

/** Removes the marks of a deletion: a new object is not being deleted, so no manager owns these fields. */
export function forgetDeletion({ metadata }: KubeObject): void {
  if (metadata.deletionTimestamp !== undefined) delete metadata.deletionTimestamp
  if (metadata.deletionGracePeriodSeconds !== undefined) delete metadata.deletionGracePeriodSeconds
}

/**
 * Throws a StatusError for an object that has a resourceVersion. As upstream, only the store refuses it: after all
 * other rules, and not in a dry run.
 */
export function checkNoResourceVersion(resourceVersion: string | undefined): void {
  if (/^[0-9]+$/.test(resourceVersion ?? '') && BigInt(resourceVersion!) !== 0n) {
    throw plainError('resourceVersion should not be set on objects to be created')
  }
}

export const otherNamespace = () =>
  badRequest('the namespace of the provided object does not match the namespace sent on the request')

/** Clears the fields that only the server may set, and sets their values. */
export function fillSystemFields(
  { definition, namespace }: RequestScope,
  object: KubeObject,
  { uid, now }: SystemValues,
): void {
  const { metadata } = object
  metadata.namespace = definition.namespaced ? namespace : undefined
  metadata.uid = uid
  metadata.creationTimestamp = now
  metadata.resourceVersion = undefined
  if (definition.strategy.generation) metadata.generation = undefined
  forgetDeletion(object)
  metadata.selfLink = undefined
  metadata.reason = undefined
}
