/** Priority and fairness: kept and shown. */
import type { V1FlowSchema, V1PriorityLevelConfiguration } from '@kubernetes/client-node'
import type { WithMeta } from '../../../../shared/api/types.ts'
import { age, ageColumn, column, nameColumn } from '../../../kind/cells.ts'
import type { ResourceDefinition } from '../../../kind/resource-definition.ts'
import { validateConditionTypes } from '../../parts/conditions.ts'
import { plain } from '../../parts/plain.ts'
import { validateLevel } from './validate-level.ts'
import { validateFlowSchema } from './validate-schema.ts'

const group = 'flowcontrol.apiserver.k8s.io'

const flowschema = plain<WithMeta<V1FlowSchema>>({
  group,
  kind: 'FlowSchema',
  plural: 'flowschemas',
  columns: [
    nameColumn,
    column('PriorityLevel', 'Where its requests wait.'),
    column('MatchingPrecedence', 'Which schema is asked first; the lower.'),
    column('DistinguisherMethod', 'What tells its flows apart.'),
    ageColumn,
    column('MissingPL', 'Whether its priority level is absent.'),
  ],
  cells: ({ metadata, spec, status }, nowMs) => [
    metadata.name,
    spec?.priorityLevelConfiguration.name ?? '',
    spec?.matchingPrecedence ?? 0,
    spec?.distinguisherMethod?.type ?? '<none>',
    age(metadata.creationTimestamp, nowMs),
    status?.conditions?.find(({ type }) => type === 'Dangling')?.status ?? '?',
  ],
  hasStatus: true,
  statusKeepsMetadata: true,
  countsGenerations: true,
  strategy: {
    applyDefaults({ spec }) {
      if (spec) spec.matchingPrecedence ||= 1000
    },
    validate: ({ metadata, spec }, errors) => validateFlowSchema(metadata.name, spec, errors),
    validateUpdate({ metadata, spec, status }, _old, errors, { subresource }) {
      if (subresource !== 'status') validateFlowSchema(metadata.name, spec, errors)
      validateConditionTypes(status?.conditions, errors)
    },
  },
  example: { metadata: { name: 'mine' }, spec: { priorityLevelConfiguration: { name: 'catch-all' } } },
})
const prioritylevelconfiguration = plain<WithMeta<V1PriorityLevelConfiguration>>({
  group,
  kind: 'PriorityLevelConfiguration',
  plural: 'prioritylevelconfigurations',
  columns: [
    nameColumn,
    column('Type', 'Whether it is limited.'),
    column('NominalConcurrencyShares', 'Its part of the requests at a time.'),
    column('Queues', 'How many queues it has.'),
    column('HandSize', 'How many of them a flow may use.'),
    column('QueueLengthLimit', 'How long a queue may be.'),
    ageColumn,
  ],
  cells({ metadata, spec }, nowMs) {
    const queuing = spec?.limited?.limitResponse?.queuing
    return [
      metadata.name,
      spec?.type ?? '',
      spec?.limited?.nominalConcurrencyShares ?? '<none>',
      queuing?.queues ?? '<none>',
      queuing?.handSize ?? '<none>',
      queuing?.queueLengthLimit ?? '<none>',
      age(metadata.creationTimestamp, nowMs),
    ]
  },
  hasStatus: true,
  statusKeepsMetadata: true,
  countsGenerations: true,
  strategy: {
    applyDefaults({ spec }) {
      if (spec?.exempt) {
        spec.exempt.nominalConcurrencyShares ??= 0
        spec.exempt.lendablePercent ??= 0
      }
      if (!spec?.limited) return
      spec.limited.nominalConcurrencyShares ??= 30
      spec.limited.lendablePercent ??= 0
      const queuing = spec.limited.limitResponse?.queuing
      if (!queuing) return
      queuing.queues ||= 64
      queuing.handSize ||= 8
      queuing.queueLengthLimit ||= 50
    },
    validate: ({ metadata, spec }, errors) => validateLevel(metadata.name, spec, errors),
    validateUpdate({ metadata, spec, status }, _old, errors, { subresource }) {
      if (subresource !== 'status') validateLevel(metadata.name, spec, errors)
      validateConditionTypes(status?.conditions, errors)
    },
  },
  example: {
    metadata: { name: 'mine' },
    spec: { type: 'Limited', limited: { nominalConcurrencyShares: 5, limitResponse: { type: 'Reject' } } },
  },
})

export const flowcontrol: ResourceDefinition[] = [flowschema, prioritylevelconfiguration]
