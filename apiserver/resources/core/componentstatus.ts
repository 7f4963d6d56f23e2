import type { V1ComponentStatus } from '@kubernetes/client-node'
import type { WithMeta } from '../../../shared/api/types.ts'
import { column, nameColumn } from '../../kind/cells.ts'
import { resource } from '../../kind/resource-definition.ts'

const words: Readonly<Record<string, string>> = { True: 'Healthy', False: 'Unhealthy' }

export const componentstatus = resource<WithMeta<V1ComponentStatus>>({
  group: '',
  kind: 'ComponentStatus',
  plural: 'componentstatuses',
  shortNames: ['cs'],
  verbs: ['get', 'list'],
  virtual: true,
  deprecationWarning: 'v1 ComponentStatus is deprecated in v1.19+',
  columns: [
    nameColumn,
    column('Status', 'Whether it is well.'),
    column('Message', 'What it says of itself.'),
    column('Error', 'Why it is not well.'),
  ],
  cells({ metadata, conditions }) {
    const health = conditions?.find(({ type }) => type === 'Healthy')
    return [metadata.name, words[health?.status ?? ''] ?? 'Unknown', health?.message ?? '', health?.error ?? '']
  },
  example: {
    metadata: { name: 'etcd-0' },
    conditions: [{ type: 'Healthy', status: 'True', message: 'ok' }],
  },
})
