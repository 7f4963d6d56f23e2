import { Budgets } from '../../controllers/scheduler/budgets.ts'
import type { DecisionContext } from '../../controllers/scheduler/decide.ts'
import { NodeSearch } from '../../controllers/scheduler/node-search.ts'
import { Nominations } from '../../controllers/scheduler/nominations.ts'

/** A decision's surroundings: no budgets, no nominations, no chance. */
export const decisionContext = (more: Partial<DecisionContext> = {}): DecisionContext => ({
  random: () => 0,
  nowMs: Date.parse('2026-01-01T00:00:00Z'),
  nominations: new Nominations(),
  search: new NodeSearch(),
  budgets: () => new Budgets([]),
  namespaceLabels: () => undefined,
  defaultSelector: () => [],
  isPreempted: ({ metadata }) => metadata.deletionTimestamp !== undefined,
  ...more,
})
