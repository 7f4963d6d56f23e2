import type { ApiContext } from '../api-context.ts'
import { intercept } from '../instruments/intercept.ts'
import type { Step } from './step.ts'

/** Notes the request in the journal, and does to it what a fault wants. */
export const instruments = (api: ApiContext): Step => {
  const { journal, faults, shared } = api.instruments
  if (shared)
    return (exchange) =>
      shared.isActive || journal.isOpen || faults.size > 0 ? intercept(api, exchange, exchange.attributes) : undefined
  return (exchange) => (journal.isOpen || faults.size > 0 ? intercept(api, exchange, exchange.attributes) : undefined)
}
