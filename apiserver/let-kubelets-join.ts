import { ignoring } from '../shared/api/status-error.ts'
import type { Client } from '../shared/client/client.ts'

const clusterRoleBindings = { group: 'rbac.authorization.k8s.io', version: 'v1', plural: 'clusterrolebindings' }

/** Members of system:bootstrappers may ask for certificates, as kubeadm arranges it: nothing among the roles of a fresh cluster lets them. */
export async function letKubeletsJoin(client: Client): Promise<void> {
  const rbac = 'rbac.authorization.k8s.io'
  const binding = {
    metadata: { name: 'kubestage:kubelet-bootstrap' },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'system:node-bootstrapper' },
    subjects: [{ apiGroup: rbac, kind: 'Group', name: 'system:bootstrappers' }],
  }
  await client.create(clusterRoleBindings, binding).catch(ignoring('AlreadyExists'))
}
