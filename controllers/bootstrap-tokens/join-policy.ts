import { nodeTokenGroup } from '../../shared/api/bootstrap-token.ts'
import { ignoring } from '../../shared/api/status/status-error.ts'
import type { ObjectMeta } from '../../shared/api/types.ts'
import type { Client, Resource } from '../../shared/client/client.ts'
import { clusterInfoRef } from './cluster-info.ts'

const group = 'rbac.authorization.k8s.io'
const rbac = (plural: string): Resource => ({ group, version: 'v1', plural })
const { namespace } = clusterInfoRef
const readClusterInfo = 'kubeadm:bootstrap-signer-clusterinfo'
const approval = 'system:certificates.k8s.io:certificatesigningrequests'

const toGroup = (name: string, role: string, subject: string) => ({
  metadata: { name },
  roleRef: { apiGroup: group, kind: 'ClusterRole', name: role },
  subjects: [{ apiGroup: group, kind: 'Group', name: subject }],
})

/**
 * Binds what kubeadm does so that machines can join: tokens of its group request a kubelet's certificate, which is
 * approved, nodes renew theirs, and anyone reads cluster-info. They give no one a right before an administrator makes a
 * token. Beyond kubeadm's list nothing: `kubeadm:get-nodes` serves `kubeadm join` alone. Upstream:
 * cmd/kubeadm/app/phases/bootstraptoken.
 */
const policy: readonly { resource: Resource; object: { metadata: ObjectMeta; [field: string]: unknown } }[] = [
  {
    resource: rbac('clusterrolebindings'),
    object: toGroup('kubeadm:kubelet-bootstrap', 'system:node-bootstrapper', nodeTokenGroup),
  },
  {
    resource: rbac('clusterrolebindings'),
    object: toGroup('kubeadm:node-autoapprove-bootstrap', `${approval}:nodeclient`, nodeTokenGroup),
  },
  {
    resource: rbac('clusterrolebindings'),
    object: toGroup('kubeadm:node-autoapprove-certificate-rotation', `${approval}:selfnodeclient`, 'system:nodes'),
  },
  {
    resource: rbac('roles'),
    object: {
      metadata: { namespace, name: readClusterInfo },
      rules: [{ apiGroups: [''], resources: ['configmaps'], resourceNames: [clusterInfoRef.name], verbs: ['get'] }],
    },
  },
  {
    resource: rbac('rolebindings'),
    object: {
      metadata: { namespace, name: readClusterInfo },
      roleRef: { apiGroup: group, kind: 'Role', name: readClusterInfo },
      subjects: [{ apiGroup: group, kind: 'User', name: 'system:anonymous' }],
    },
  },
]

/** Makes what is missing of it. An object that an administrator has changed stays as it is. */
export async function ensureJoinPolicy(client: Client): Promise<void> {
  await Promise.all(
    policy.map(({ resource, object }) => client.create(resource, object).catch(ignoring('AlreadyExists'))),
  )
}
