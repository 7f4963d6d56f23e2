import {
  fromSelectorObject,
  type LabelSelector,
  type LabelSelectorObject,
} from '../../../shared/api/selectors/label-selector.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import type { ClientConfig } from '../../webhook-client/client-config.ts'

/** Holds one webhook of a configuration (admissionregistration.k8s.io/v1), with its defaults filled in. */
export interface Webhook {
  name: string
  clientConfig: ClientConfig
  rules?: Rule[]
  failurePolicy: 'Fail' | 'Ignore'
  matchPolicy: 'Exact' | 'Equivalent'
  namespaceSelector: LabelSelectorObject
  objectSelector: LabelSelectorObject
  sideEffects: string
  timeoutSeconds: number
  admissionReviewVersions: string[]
  matchConditions?: MatchCondition[]
  /** Says whether a mutating webhook is called again; other webhooks have no such policy. */
  reinvocationPolicy?: 'Never' | 'IfNeeded'
}
export interface Rule {
  apiGroups: string[]
  apiVersions: string[]
  operations: string[]
  resources: string[]
  scope?: string
}
export interface MatchCondition {
  name: string
  expression: string
}

export interface RegisteredWebhook extends Webhook {
  /** The ID is unique among all webhooks. */
  id: string
  configuration: string
  /** Says which of all webhooks this is, from 0 on. */
  index: number
  namespaces: LabelSelector
  objects: LabelSelector
}

/**
 * Returns all webhooks of all configurations, in the order in which they are called: by the names of the
 * configurations.
 */
export function registeredWebhooks(configurations: Iterable<KubeObject>): RegisteredWebhook[] {
  const byName = [...configurations].sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1))
  const all = byName.flatMap(({ metadata, webhooks }) =>
    ((webhooks ?? []) as Webhook[]).map((webhook, index) => ({
      ...webhook,
      id: `${metadata.name}/${webhook.name}/${index}`,
      configuration: metadata.name ?? '',
      namespaces: fromSelectorObject(webhook.namespaceSelector) ?? [],
      objects: fromSelectorObject(webhook.objectSelector) ?? [],
    })),
  )
  return all.map((webhook, index) => ({ ...webhook, index }))
}
