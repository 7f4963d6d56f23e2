import { toJson } from '../../../shared/api/json/exact-json.ts'
import { internalError } from '../../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import type { AdmissionAttributes, AdmissionPlugin } from '../../registry/admission-plugin.ts'
import type { WorkLimits } from '../../work-limits.ts'
import { Invocations } from '../reinvocation.ts'
import { applies } from './applies.ts'
import { auditFailedOpen, auditMutation, auditPatch } from './audit-annotations.ts'
import { callWebhook } from './call-webhook.ts'
import type { WebhookCandidate } from './candidates.ts'
import { patchObject, readPatch } from './patch-object.ts'
import { FailedCall } from './refusals.ts'
import { isExempt } from './rules.ts'
import type { WebhookContext } from './webhook-context.ts'

export interface MutatingContext extends WebhookContext {
  limits: WorkLimits
  applyDefaults(definition: ResourceDefinition, object: KubeObject): void
}

/**
 * Calls mutating webhooks one after the other; each sees the changes of the earlier ones. After a webhook has changed
 * the object, webhooks with reinvocationPolicy IfNeeded are called once more. Upstream: webhook/mutating/dispatcher.go.
 */
export function mutatingWebhooks(context: MutatingContext): AdmissionPlugin {
  return {
    asksAll: true,
    admit(attributes) {
      const candidates = context.candidates.of(attributes)
      if (candidates.length === 0 || isExempt(attributes)) return
      return askAll(context, attributes, candidates)
    },
  }
}

async function askAll(
  context: MutatingContext,
  attributes: AdmissionAttributes,
  candidates: readonly WebhookCandidate[],
): Promise<void> {
  const invocations = Invocations.of(attributes, 'MutatingAdmissionWebhook')
  invocations.begin(attributes)
  for (const candidate of candidates) {
    const { id, reinvocationPolicy } = candidate.hook
    if (!invocations.isAsked(id, attributes)) continue
    if (!(await applies(candidate, attributes, context))) continue
    if (await ask(context, attributes, candidate)) invocations.changed(attributes)
    if (reinvocationPolicy === 'IfNeeded') invocations.mayBeAskedAgain(id)
  }
  invocations.end(attributes)
}

/** Resolves to whether the webhook changed the object. */
async function ask(
  context: MutatingContext,
  attributes: AdmissionAttributes,
  candidate: WebhookCandidate,
): Promise<boolean> {
  const { name, failurePolicy } = candidate.hook
  let isChanged = false
  try {
    const { patch, patchType } = await callWebhook(context.client, attributes, candidate, { mutating: true })
    const operations = patch === undefined ? [] : readPatch(patch)
    if (operations.length === 0) return false
    if (!attributes.object) {
      throw internalError(
        `admission webhook ${JSON.stringify(name)} attempted to modify the object, which is not supported for this operation`,
      )
    }
    if (patchType !== 'JSONPatch') throw new FailedCall(name, `unsupported patch type ${toJson(patchType)}`)
    isChanged = await patchObject(attributes, candidate.definition, operations, context)
    auditPatch(attributes, candidate.hook, operations)
    return isChanged
  } catch (error) {
    if (!(error instanceof FailedCall)) throw error
    context.log.warn({ err: error }, 'admission webhook')
    if (failurePolicy !== 'Ignore') throw internalError(error.message)
    auditFailedOpen(attributes, 'mutation', candidate.hook)
    return false
  } finally {
    auditMutation(attributes, candidate.hook, isChanged)
  }
}
