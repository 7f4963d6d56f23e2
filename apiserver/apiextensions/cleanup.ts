import type { CustomResourceDefinition } from './custom-resource-definition.ts'
import { type NewCondition, setCondition } from './naming.ts'

/** Keeps a definition until the last of its objects is gone. */
export const CLEANUP_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io'

const DELETION_PENDING: NewCondition = {
  type: 'Terminating',
  status: 'True',
  reason: 'InstanceDeletionPending',
  message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
}
export const DELETION_IN_PROGRESS: NewCondition = {
  type: 'Terminating',
  status: 'True',
  reason: 'InstanceDeletionInProgress',
  message: 'CustomResource deletion is in progress',
}
export const DELETION_COMPLETED: NewCondition = {
  type: 'Terminating',
  status: 'False',
  reason: 'InstanceDeletionCompleted',
  message: 'removed all instances',
}

/**
 * Sets what the first DELETE of a definition writes besides the deletion timestamp: the cleanup finalizer and the
 * Terminating condition.
 */
export function beginDeletion(crd: CustomResourceDefinition): void {
  const { metadata } = crd
  const finalizers = metadata.finalizers ?? []
  if (!finalizers.includes(CLEANUP_FINALIZER)) metadata.finalizers = [...finalizers, CLEANUP_FINALIZER]
  crd.status = crd.status && { ...crd.status }
  setCondition(crd, DELETION_PENDING, metadata.deletionTimestamp ?? '')
}
