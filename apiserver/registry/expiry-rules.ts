import type { ExpiryRule } from '../storage/storage.ts'
import { keyPrefix } from './keys.ts'

const eventTtlMs = 3_600_000

/**
 * Returns the rules of the kinds whose objects expire: events, and records of terminations after `terminationTtlMs`.
 */
export const expiryRules = (terminationTtlMs: number): [events: ExpiryRule, terminations: ExpiryRule] => [
  { prefix: keyPrefix({ group: '', plural: 'events' }), ttlMs: eventTtlMs },
  { prefix: keyPrefix({ group: 'kubestage.dev', plural: 'terminations' }), ttlMs: terminationTtlMs },
]
