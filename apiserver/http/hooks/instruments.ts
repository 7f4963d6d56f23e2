import type { ApiContext } from '../api-context.ts'
import { intercept } from '../instruments/intercept.ts'
import type { Step } from './step.ts'

/** Notes the request in the journal, and does to it what a fault wants. */
export const instruments = (api: ApiContext): Step => {
  const { journal, faults } = api.instruments
  return (exchange) => (journal.isOpen || faults.size > 0 ? intercept(api, exchange, exchange.attributes) : undefined)
}
