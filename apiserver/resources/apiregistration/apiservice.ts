import { toTime } from '../../../shared/clock/timestamp.ts'
import { type APIService, apiServiceName, localCondition } from '../../aggregation/api-service.ts'
import { age, ageColumn, column, nameColumn } from '../../kind/cells.ts'
import { invalid, required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { dns1035Label, dns1123Subdomain, portNumber } from '../../validation/names.ts'
import { reject } from '../parts/messages.ts'
import { plain } from '../parts/plain.ts'

/** An APIService says who serves a group version: this server, or the server behind a Service. */
export const apiservice = plain<APIService>({
  group: 'apiregistration.k8s.io',
  schema: 'io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService',
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
    nameRuleOf: (object) => (name) => {
      const { group = '', version = '' } = object.spec ?? {}
      const expected = apiServiceName({ group, version })
      return name === expected ? [] : [`must be \`spec.version+"."+spec.group\`: ${JSON.stringify(expected)}`]
    },
    prepareForCreate(object, { nowMs }) {
      object.status = object.spec?.service
        ? {}
        : { conditions: [{ ...localCondition, lastTransitionTime: toTime(nowMs) }] }
    },
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

function validate({ spec }: APIService, errors: FieldErrors): void {
  const { group = '', version = '', groupPriorityMinimum = 0, versionPriority = 0 } = spec ?? {}
  if (group !== '') reject(errors, 'spec.group', group, dns1123Subdomain(group))
  else if (version !== 'v1')
    errors.push(required('spec.group', 'only v1 may have an empty group and it better be legacy kube'))
  reject(errors, 'spec.version', version, dns1035Label(version))
  if (groupPriorityMinimum <= 0 || groupPriorityMinimum > 20_000)
    errors.push(invalid('spec.groupPriorityMinimum', groupPriorityMinimum, 'must be positive and less than 20000'))
  if (versionPriority <= 0 || versionPriority > 1000)
    errors.push(invalid('spec.versionPriority', versionPriority, 'must be positive and less than 1000'))
  validateServer(spec, errors)
}

function validateServer(spec: APIService['spec'], errors: FieldErrors): void {
  const { service, caBundle = '', insecureSkipTLSVerify = false } = spec ?? {}
  const bytes = Buffer.from(caBundle, 'base64').length
  const insecure = (detail: string) => errors.push(invalid('spec.insecureSkipTLSVerify', insecureSkipTLSVerify, detail))
  if (!service) {
    if (bytes > 0) errors.push(invalid('spec.caBundle', `${bytes} bytes`, 'local APIServices may not have a caBundle'))
    if (insecureSkipTLSVerify) insecure('local APIServices may not have insecureSkipTLSVerify')
    return
  }
  if (!service.namespace) errors.push(required('spec.service.namespace'))
  if (!service.name) errors.push(required('spec.service.name'))
  const messages = portNumber(service.port ?? 0)
  if (messages.length > 0)
    errors.push(invalid('spec.service.port', service.port, `port is not valid: ${messages.join(', ')}`))
  if (insecureSkipTLSVerify && bytes > 0) insecure('may not be true if caBundle is present')
}
