import type { Logger } from '../../../shared/log/log.ts'
import type { Lookup } from '../../kind/lookup.ts'
import type { WebhookClient } from '../../webhook-client/webhook-client.ts'
import type { MatchConditions } from './applies.ts'
import type { Candidates } from './candidates.ts'
import type { RegisteredWebhook } from './webhook.ts'

/** Holds everything that calling webhooks depends on. */
export interface WebhookContext {
  client: WebhookClient
  candidates: Candidates<RegisteredWebhook>
  lookup: Lookup
  conditions: MatchConditions
  log: Logger
}
