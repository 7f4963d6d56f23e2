import type { Access } from '../auth/access.ts'
import type { Lookup, LookupAll } from '../kind/lookup.ts'
import type { AdmissionPlugin } from '../registry/admission-plugin.ts'
import { certificateApproval, certificateSigning, certificateSubjectRestriction } from './certificates.ts'
import { claimResize } from './claim-resize.ts'
import { defaultIngressClass, defaultStorageClass } from './default-class.ts'
import { defaultTolerationSeconds } from './default-toleration-seconds.ts'
import { limitRanger } from './limit-ranger.ts'
import { namespaceLifecycle } from './namespace-lifecycle.ts'
import { nodeRestriction } from './node-restriction/node-restriction.ts'
import { podSecurity } from './pod-security/pod-security.ts'
import { policyPlugins } from './policies/plugins.ts'
import { priority } from './priority.ts'
import { type ChargeQuota, resourceQuota } from './resource-quota.ts'
import { runtimeClass } from './runtime-class.ts'
import { serviceAccount } from './service-account.ts'
import { storageObjectInUseProtection } from './storage-object-in-use-protection.ts'
import { taintNodesByCondition } from './taint-nodes-by-condition.ts'
import { type WebhooksContext, webhookPlugins } from './webhooks/plugins.ts'

export interface AdmissionContext {
  lookup: Lookup
  lookupAll: LookupAll
  access: Access
  chargeQuota: ChargeQuota
  webhooks: Omit<WebhooksContext, 'access'>
  nowMs(): number
  /** Returns a number from 0 up to, but not including, 1. Generated names use it. */
  random(): number
}

/**
 * Returns the admission plugins of a stock server, in its order, under the names that its flags use. Some may be left
 * out.
 */
export function admissionPlugins(
  { lookup, lookupAll, access, chargeQuota, webhooks, nowMs, random }: AdmissionContext,
  disabled: readonly string[] = [],
): AdmissionPlugin[] {
  const { MutatingAdmissionWebhook, ValidatingAdmissionWebhook } = webhookPlugins({ ...webhooks, access })
  const { MutatingAdmissionPolicy, ValidatingAdmissionPolicy } = policyPlugins({ ...webhooks, lookupAll, access })
  const plugins: Record<string, AdmissionPlugin> = {
    NamespaceLifecycle: namespaceLifecycle(lookup),
    LimitRanger: limitRanger(lookupAll),
    ServiceAccount: serviceAccount(lookup, random),
    NodeRestriction: nodeRestriction(lookup, access),
    TaintNodesByCondition: taintNodesByCondition,
    PodSecurity: podSecurity(lookup, lookupAll),
    Priority: priority(lookup, lookupAll),
    DefaultTolerationSeconds: defaultTolerationSeconds,
    DefaultStorageClass: defaultStorageClass(lookupAll),
    StorageObjectInUseProtection: storageObjectInUseProtection,
    PersistentVolumeClaimResize: claimResize(lookup),
    RuntimeClass: runtimeClass(lookup),
    CertificateApproval: certificateApproval(access),
    CertificateSigning: certificateSigning(access),
    CertificateSubjectRestriction: certificateSubjectRestriction,
    DefaultIngressClass: defaultIngressClass(lookupAll),
    MutatingAdmissionPolicy,
    MutatingAdmissionWebhook,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionWebhook,
    ResourceQuota: resourceQuota(lookupAll, chargeQuota, nowMs),
  }
  return Object.entries(plugins).flatMap(([name, plugin]) => (disabled.includes(name) ? [] : [plugin]))
}
