/** Priority and fairness: kept and shown. */
import type { V1FlowSchema, V1PriorityLevelConfiguration } from '@kubernetes/client-node'
import type { WithMeta } from '../../shared/api/types.ts'
import type { ResourceDefinition } from '../kind/resource-definition.ts'
import { invalid, notSupported, required } from '../validation/field-error.ts'
import { age, ageColumn, column, nameColumn } from './parts/cells.ts'
import { plain } from './parts/plain.ts'

const group = 'flowcontrol.apiserver.k8s.io'
const schemaPackage = 'io.k8s.api.flowcontrol'
const MAX_PRECEDENCE = 10_000

const flowschema = plain<WithMeta<V1FlowSchema>>({
  group,
  schemaPackage,
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
    validate({ spec }, errors) {
      const precedence = spec?.matchingPrecedence ?? 0
      if (precedence < 0) errors.push(invalid('spec.matchingPrecedence', precedence, 'must be a positive value'))
      if (precedence > MAX_PRECEDENCE)
        errors.push(invalid('spec.matchingPrecedence', precedence, `must not be greater than ${MAX_PRECEDENCE}`))
      const method = spec?.distinguisherMethod?.type
      if (method !== undefined && !methods.includes(method))
        errors.push(notSupported('spec.distinguisherMethod', method, methods))
      if (!spec?.priorityLevelConfiguration?.name)
        errors.push(required('spec.priorityLevelConfiguration.name', 'must reference a priority level'))
    },
    allowUnconditionalUpdate: false,
  },
  example: { metadata: { name: 'mine' }, spec: { priorityLevelConfiguration: { name: 'catch-all' } } },
})
const methods = ['ByNamespace', 'ByUser']

const prioritylevelconfiguration = plain<WithMeta<V1PriorityLevelConfiguration>>({
  group,
  schemaPackage,
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
    validate({ spec }, errors) {
      const types = ['Exempt', 'Limited']
      if (!types.includes(spec?.type ?? '')) errors.push(notSupported('spec.type', spec?.type ?? '', types))
      else if (spec?.type === 'Limited' && !spec.limited)
        errors.push(required('spec.limited', 'must not be empty when type is Limited'))
    },
    allowUnconditionalUpdate: false,
  },
  example: {
    metadata: { name: 'mine' },
    spec: { type: 'Limited', limited: { nominalConcurrencyShares: 5, limitResponse: { type: 'Reject' } } },
  },
})

export const flowcontrol: ResourceDefinition[] = [flowschema, prioritylevelconfiguration]
