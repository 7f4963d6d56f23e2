import type { ServiceAccount } from '../../../shared/api/types.ts'
import { age, ageColumn, nameColumn } from '../../kind/cells.ts'
import { resource } from '../../kind/resource-definition.ts'

export const serviceaccount = resource<ServiceAccount>({
  group: '',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
  shortNames: ['sa'],
  columns: [nameColumn, ageColumn],
  cells: ({ metadata }, nowMs) => [metadata.name, age(metadata.creationTimestamp, nowMs)],
  extraSubresources: [
    { name: 'token', group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest', verbs: ['create'] },
  ],
  strategy: {
    prepareForCreate: keepNamesOfSecrets,
    prepareForUpdate: keepNamesOfSecrets,
    warnings: (account, old) => (isEnforced(account) && !(old && isEnforced(old)) ? [ENFORCEMENT] : []),
    returnsDeletedObject: true,
  },
  example: { metadata: { name: 'builder' } },
})

function keepNamesOfSecrets(account: ServiceAccount): void {
  account.secrets = account.secrets?.map(({ name }) => (name ? { name } : {}))
}

const ENFORCED = 'kubernetes.io/enforce-mountable-secrets'
const ENFORCEMENT = `metadata.annotations[${ENFORCED}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`
const isEnforced = ({ metadata }: ServiceAccount): boolean => metadata.annotations?.[ENFORCED] !== undefined
