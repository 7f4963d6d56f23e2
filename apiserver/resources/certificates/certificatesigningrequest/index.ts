import type { V1CertificateSigningRequest } from '@kubernetes/client-node'
import type { WithMeta } from '../../../../shared/api/types.ts'
import { toTime } from '../../../../shared/clock/timestamp.ts'
import { age, ageColumn, column, humanDuration, nameColumn } from '../../../kind/cells.ts'
import type { User } from '../../../kind/user.ts'
import { pathSegmentName } from '../../../validation/names.ts'
import { deepEqual } from '../../../values/deep-equal.ts'
import { plain } from '../../parts/plain.ts'
import { validateCertificate, validateConditions, validateConditionsUpdate, validateRequest } from './validate.ts'

type CertificateSigningRequest = WithMeta<V1CertificateSigningRequest>
type Condition = NonNullable<NonNullable<CertificateSigningRequest['status']>['conditions']>[number]

export const certificatesigningrequest = plain<CertificateSigningRequest>({
  group: 'certificates.k8s.io',
  kind: 'CertificateSigningRequest',
  plural: 'certificatesigningrequests',
  shortNames: ['csr'],
  columns: [
    nameColumn,
    ageColumn,
    column('SignerName', 'Who is to sign.'),
    column('Requestor', 'Who asks.'),
    column('RequestedDuration', 'For how long.'),
    column('Condition', 'What has become of it.'),
  ],
  cells: ({ metadata, spec, status }, nowMs) => [
    metadata.name,
    age(metadata.creationTimestamp, nowMs),
    spec.signerName || '<none>',
    spec.username ?? '',
    spec.expirationSeconds === undefined ? '<none>' : humanDuration(spec.expirationSeconds * 1000),
    conditionText(status),
  ],
  selectableFields: { 'spec.signerName': ({ spec }) => spec.signerName },
  hasStatus: true,
  // Nothing of the spec can change, so that no manager owns it, its maker included.
  resetFields: { '': ['spec'], status: ['status.conditions'], approval: ['status.certificate'] },
  extraSubresources: [{ name: 'approval', kind: 'CertificateSigningRequest', verbs: ['get', 'patch', 'update'] }],
  strategy: {
    validateName: pathSegmentName,
    prepareForCreate(object, { user }) {
      const { name = '', uid, groups = [], extra } = user ?? {}
      object.spec.username = name || undefined
      object.spec.uid = uid || undefined
      object.spec.groups = groups.length > 0 ? [...groups] : undefined
      object.spec.extra = extra && copyOf(extra)
      object.status = {}
    },
    prepareForUpdate(object, old, { subresource, nowMs }) {
      object.spec = structuredClone(old.spec)
      if (subresource === undefined) return
      if (subresource === 'approval') object.status = { ...old.status, conditions: object.status?.conditions }
      setTimes(object.status?.conditions ?? [], old.status?.conditions ?? [], toTime(nowMs))
    },
    validate: ({ spec }, errors) => validateRequest(spec, errors),
    validateUpdate({ status }, old, errors, { subresource }) {
      validateConditions(status?.conditions ?? [], errors)
      if (subresource === 'status') validateCertificate(status?.certificate, old.status?.certificate, errors)
      validateConditionsUpdate(status?.conditions ?? [], old.status?.conditions ?? [], subresource, errors)
    },
  },
  example: {
    metadata: { name: 'jane' },
    spec: {
      request:
        'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIWk1JR0FBZ0VBTUI0eERUQUxCZ05WQkFvTUJIUmxZVzB4RFRBTEJnTlZCQU1NQkdwaGJtVXdXVEFUQmdjcQpoa2pPUFFJQkJnZ3Foa2pPUFFNQkJ3TkNBQVRNWXgvd2o2RW1ZV0xHd2EyeUZZd0xZaEVHQWx5RitOZWdLdXFJCk40ZzhDZzU1MEI3cXV4aWFsb3I3TzIyMlNJRDlTSjlpVW83WEc5MDl6TXhUUWZkZW9BQXdDZ1lJS29aSXpqMEUKQXdJRFNBQXdSUUloQUtRZW1FZ203VlJhWUFOcGpWemxxcmhPWTYxUytrUENibHpxMzlpVy84N1JBaUJXTWZsSwpCaC9wSy8wei9wSWRpTHB2NlBoSUw0ZFRsdVQ0cE9OM1JFRldLdz09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=',
      signerName: 'example.com/signer',
      usages: ['client auth'],
    },
  },
})

const copyOf = (extra: NonNullable<User['extra']>): Record<string, string[]> | undefined => {
  const entries = Object.entries(extra).map(([key, values]): [string, string[]] => [key, [...values]])
  return entries.length > 0 ? Object.fromEntries(entries) : undefined
}

function conditionText(status: CertificateSigningRequest['status']): string {
  const types = new Set((status?.conditions ?? []).map(({ type }) => type))
  const decided = types.has('Denied') ? 'Denied' : types.has('Approved') ? 'Approved' : 'Pending'
  return [decided, ...(types.has('Failed') ? ['Failed'] : []), ...(status?.certificate ? ['Issued'] : [])].join(',')
}

/** The time of a change is the server's, where the client does not say it. */
function setTimes(conditions: Condition[], old: Condition[], now: string): void {
  const known = new Map(old.toReversed().map((condition) => [condition.type, condition]))
  for (const condition of conditions) {
    const before = known.get(condition.type)
    const hasChanged = !before || !deepEqual({ ...before, ...noTimes }, { ...condition, ...noTimes })
    condition.lastUpdateTime ??= hasChanged ? now : before?.lastUpdateTime
    condition.lastTransitionTime ??=
      before && before.status === condition.status ? (before.lastTransitionTime ?? now) : now
  }
}
const noTimes = { lastUpdateTime: undefined, lastTransitionTime: undefined }
