import type { KubeObject } from '../../../shared/api/types.ts'
import type { Logger } from '../../../shared/log/log.ts'
import type { Access } from '../../auth/access.ts'
import type { Lookup } from '../../kind/lookup.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import type { AdmissionPlugin } from '../../registry/admission-plugin.ts'
import type { WebhookClient } from '../../webhook-client/webhook-client.ts'
import type { WorkLimits } from '../../work-limits.ts'
import { authorizerVariables } from '../cel/authorizer.ts'
import { allHold, requestVariables } from '../cel/match-conditions.ts'
import { seenObjects } from '../seen-object.ts'
import type { MatchConditions } from './applies.ts'
import { Candidates } from './candidates.ts'
import { mutatingWebhooks } from './mutating.ts'
import { namespaceOf } from './selectors.ts'
import { validatingWebhooks } from './validating.ts'
import { registeredWebhooks } from './webhook.ts'

/** Holds all objects of a kind of admission configuration, and when they last changed. */
export interface Followed {
  objects(): Iterable<KubeObject>
  /** Returns a number that rises with each change of the objects. */
  version(): number
}

export interface WebhooksContext {
  limits: WorkLimits
  client: WebhookClient
  access: Access
  lookup: Lookup
  log: Logger
  follow(plural: string): Followed
  catalog: {
    readonly generation: number
    /** Returns the other versions of the same resource. */
    siblings(definition: ResourceDefinition): readonly ResourceDefinition[]
    definitions(): readonly ResourceDefinition[]
  }
  applyDefaults(definition: ResourceDefinition, object: KubeObject): void
}

const conditionsWithin =
  ({ celSteps }: WorkLimits, access: Access): MatchConditions =>
  async ({ hook, definition }, attributes) => {
    const variables = {
      ...requestVariables(attributes, definition, await seenObjects(attributes, definition)),
      ...authorizerVariables(access, attributes, namespaceOf(attributes)),
    }
    return allHold(hook.matchConditions ?? [], variables, celSteps)
  }

/** Returns the webhooks that the configurations of a kind register. */
function candidatesOf({ follow, catalog }: WebhooksContext, plural: string) {
  const { objects, version } = follow(plural)
  return new Candidates({
    version: () => version() + catalog.generation,
    all: () => registeredWebhooks(objects()),
    siblings: catalog.siblings,
  })
}

export function webhookPlugins(
  context: WebhooksContext,
): Record<'MutatingAdmissionWebhook' | 'ValidatingAdmissionWebhook', AdmissionPlugin> {
  const { limits, client, access, lookup, log, applyDefaults } = context
  const common = { client, lookup, log, conditions: conditionsWithin(limits, access) }
  return {
    MutatingAdmissionWebhook: mutatingWebhooks({
      ...common,
      limits,
      applyDefaults,
      candidates: candidatesOf(context, 'mutatingwebhookconfigurations'),
    }),
    ValidatingAdmissionWebhook: validatingWebhooks({
      ...common,
      candidates: candidatesOf(context, 'validatingwebhookconfigurations'),
    }),
  }
}
