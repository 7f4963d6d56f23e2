import type { V1APIService } from '@kubernetes/client-node'
import type { WithMeta } from '../../shared/api/types.ts'
import { invalid, required } from '../validation/field-error.ts'
import type { FieldErrors } from '../validation/field-errors.ts'
import { age, ageColumn, column, nameColumn } from './parts/cells.ts'
import { plain } from './parts/plain.ts'

type APIService = WithMeta<V1APIService>

/** Group-versions that another server would serve: kept and shown; requests are not passed on. */
export const apiservice = plain<APIService>({
  group: 'apiregistration.k8s.io',
  schemaPackage: 'io.k8s.kube-aggregator.pkg.apis.apiregistration',
  kind: 'APIService',
  plural: 'apiservices',
  categories: ['api-extensions'],
  columns: [
    nameColumn,
    column('Service', 'Who serves the group-version.'),
    column('Available', 'Whether it is served.'),
    ageColumn,
  ],
  cells: ({ metadata, spec, status }, nowMs) => [
    metadata.name,
    spec?.service ? `${spec.service.namespace}/${spec.service.name}` : 'Local',
    availableText(status),
    age(metadata.creationTimestamp, nowMs),
  ],
  hasStatus: true,
  statusKeepsMetadata: true,
  strategy: {
    unqualifiedFinalizers: true,
    applyDefaults({ spec }) {
      if (spec?.service) spec.service.port ??= 443
    },
    validate,
    validateUpdate(object, _old, errors, { subresource }) {
      if (subresource !== 'status') validate(object, errors)
    },
    allowUnconditionalUpdate: false,
  },
  example: {
    metadata: { name: 'v1.things.example.com' },
    spec: { group: 'things.example.com', version: 'v1', groupPriorityMinimum: 100, versionPriority: 10 },
  },
})

function availableText(status: APIService['status']): string {
  const found = status?.conditions?.find(({ type }) => type === 'Available')
  if (!found) return 'Unknown'
  return found.status === 'True' ? 'True' : `${found.status} (${found.reason ?? ''})`
}

function validate({ metadata, spec }: APIService, errors: FieldErrors): void {
  const { group = '', version = '' } = spec ?? {}
  const expected = `${version}.${group}`
  if (metadata.name !== expected)
    errors.push(
      invalid(
        'metadata.name',
        metadata.name ?? '',
        `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(expected)}`,
      ),
    )
  if (version === '') errors.push(required('spec.version'))
  const { groupPriorityMinimum = 0, versionPriority = 0 } = spec ?? {}
  if (groupPriorityMinimum <= 0 || groupPriorityMinimum > 20_000)
    errors.push(invalid('spec.groupPriorityMinimum', groupPriorityMinimum, 'must be positive and less than 20000'))
  if (versionPriority <= 0 || versionPriority > 1000)
    errors.push(invalid('spec.versionPriority', versionPriority, 'must be positive and less than 1000'))
}
