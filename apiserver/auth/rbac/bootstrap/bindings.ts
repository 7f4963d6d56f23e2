import type { BindingRow } from './rows.ts'

/** Holds the bindings of the bootstrap cluster roles to their subjects. */
export const clusterRoleBindings: readonly BindingRow[] = [
  { name: 'cluster-admin', subjects: ['Group system:masters'] },
  { name: 'system:basic-user', subjects: ['Group system:authenticated'] },
  { name: 'system:discovery', subjects: ['Group system:authenticated'] },
  { name: 'system:kube-controller-manager', subjects: ['User system:kube-controller-manager'] },
  { name: 'system:kube-dns', subjects: ['ServiceAccount kube-system/kube-dns'] },
  { name: 'system:kube-scheduler', subjects: ['User system:kube-scheduler'] },
  { name: 'system:monitoring', subjects: ['Group system:monitoring'] },
  { name: 'system:node', subjects: [] },
  { name: 'system:node-proxier', subjects: ['User system:kube-proxy'] },
  { name: 'system:public-info-viewer', subjects: ['Group system:authenticated', 'Group system:unauthenticated'] },
  { name: 'system:service-account-issuer-discovery', subjects: ['Group system:serviceaccounts'] },
  { name: 'system:volume-scheduler', subjects: ['User system:kube-scheduler'] },
]

/** Holds the bindings of the bootstrap roles in the system's namespaces to their subjects. */
export const roleBindings: readonly BindingRow[] = [
  {
    namespace: 'kube-public',
    name: 'system:controller:bootstrap-signer',
    subjects: ['ServiceAccount kube-system/bootstrap-signer'],
  },
  {
    namespace: 'kube-system',
    name: 'system::extension-apiserver-authentication-reader',
    role: 'extension-apiserver-authentication-reader',
    subjects: ['User system:kube-controller-manager', 'User system:kube-scheduler'],
  },
  {
    namespace: 'kube-system',
    name: 'system::leader-locking-kube-controller-manager',
    subjects: [
      'User system:kube-controller-manager',
      'ServiceAccount kube-system/kube-controller-manager',
      'ServiceAccount kube-system/leader-election-controller',
    ],
  },
  {
    namespace: 'kube-system',
    name: 'system::leader-locking-kube-scheduler',
    subjects: ['User system:kube-scheduler', 'ServiceAccount kube-system/kube-scheduler'],
  },
  {
    namespace: 'kube-system',
    name: 'system:controller:bootstrap-signer',
    subjects: ['ServiceAccount kube-system/bootstrap-signer'],
  },
  {
    namespace: 'kube-system',
    name: 'system:controller:cloud-provider',
    subjects: ['ServiceAccount kube-system/cloud-provider'],
  },
  {
    namespace: 'kube-system',
    name: 'system:controller:token-cleaner',
    subjects: ['ServiceAccount kube-system/token-cleaner'],
  },
]
