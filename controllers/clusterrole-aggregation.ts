import type { V1ClusterRole, V1PolicyRule } from '@kubernetes/client-node'
import { fromSelectorObject, matchesLabels } from '../shared/api/selectors/label-selector.ts'
import type { Wire, WithMeta } from '../shared/api/types.ts'
import { clusterRoles } from '../shared/client/resources.ts'
import type { Controller, ControllerContext } from './controller.ts'
import { createLoopQueue } from './loop-queue.ts'

type ClusterRole = WithMeta<V1ClusterRole>
type Rule = Wire<V1PolicyRule>

/**
 * A role with an aggregationRule has the rules of those that it selects. Upstream:
 * pkg/controller/clusterroleaggregation.
 */
export function startClusterRoleAggregation({ client, informers, log, clock }: ControllerContext): Controller {
  /** Holds the names of the roles with an aggregationRule: any change of a role may concern all of them. */
  const aggregating = new Set<string>()
  const all = (): void => {
    for (const name of aggregating) queue.add(name)
  }
  const note = ({ metadata: { name = '' }, aggregationRule }: ClusterRole): void => {
    if (aggregationRule) aggregating.add(name)
    else aggregating.delete(name)
    all()
  }
  const forget = ({ metadata: { name = '' } }: ClusterRole): void => {
    aggregating.delete(name)
    all()
  }
  const roles = informers.selected<ClusterRole>(clusterRoles, {
    handlers: [{ onAdd: note, onUpdate: note, onDelete: forget }],
  })
  const queue = createLoopQueue(
    { clock, log, loop: 'clusterrole-aggregation-controller', object: 'ClusterRole' },
    async (name) => {
      await roles.synced()
      const role = roles.get({ name })
      if (!role?.aggregationRule) return
      const rules = aggregated(role, [...roles.list()])
      if (JSON.stringify(rules.map(canonical)) === JSON.stringify((role.rules ?? []).map(canonical))) return
      await client.patch(clusterRoles, { name }, { rules })
    },
  )
  return { close: () => queue.close() }
}

/**
 * Returns the rules of all selected roles without duplicates, in the order of the selectors and then of the roles'
 * names.
 */
export function aggregated({ metadata, aggregationRule }: ClusterRole, roles: readonly ClusterRole[]): Rule[] {
  const sorted = [...roles].sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1))
  const found = new Map<string, Rule>()
  for (const selectorObject of aggregationRule?.clusterRoleSelectors ?? []) {
    const selector = fromSelectorObject(selectorObject)
    for (const role of sorted) {
      if (role.metadata.name === metadata.name || !selector || !matchesLabels(selector, role.metadata.labels)) continue
      for (const rule of role.rules ?? []) {
        const key = JSON.stringify(canonical(rule))
        if (!found.has(key)) found.set(key, rule)
      }
    }
  }
  return [...found.values()]
}

const canonical = ({ verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: Rule) => [
  verbs,
  apiGroups,
  resources,
  resourceNames,
  nonResourceURLs,
]
