import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type EtcdProgram, etcdPrograms } from './etcd.ts'

/** Upstream's example of an aggregated API server, which .ci/run builds from its Go module, with the etcd that it stores in. */
export interface SampleApiServer {
  file: string
  etcd: EtcdProgram
}

const file = join(import.meta.dirname, '..', 'toolchains', 'bin', 'sample-apiserver')

/** Returns the programs, or says why they cannot run here. */
export function sampleApiServer(): SampleApiServer | string {
  if (!existsSync(file)) return 'needs the sample API server in test/toolchains/bin, which .ci/run builds'
  const etcd = etcdPrograms().at(-1)
  return etcd ? { file, etcd } : 'needs etcd (Debian: apt-get install etcd-server)'
}

const group = 'wardle.example.com'
const meta = (name: string) => ({ name, namespace: 'wardle' })
const account = { kind: 'ServiceAccount', ...meta('apiserver') }
const roleRef = (kind: string, name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name })

/**
 * Returns the objects that run it in a pod of two containers, and announce it as the server of `v1alpha1.wardle.example.com`.
 * The ports are those of the machine.
 */
export function sampleObjects({ port, etcdPorts: [client, peer] }: { port: number; etcdPorts: [number, number] }) {
  const etcd = `http://127.0.0.1:${client}`
  const rights = {
    '': ['namespaces'],
    'admissionregistration.k8s.io': [
      'mutatingadmissionpolicies',
      'mutatingadmissionpolicybindings',
      'mutatingwebhookconfigurations',
      'validatingadmissionpolicies',
      'validatingadmissionpolicybindings',
      'validatingwebhookconfigurations',
    ],
    'flowcontrol.apiserver.k8s.io': ['flowschemas', 'prioritylevelconfigurations'],
  }
  const containers = [
    {
      name: 'etcd',
      image: 'etcd:1',
      args: [
        '--data-dir=/tmp/etcd',
        `--listen-client-urls=${etcd}`,
        `--advertise-client-urls=${etcd}`,
        `--listen-peer-urls=http://127.0.0.1:${peer}`,
        `--initial-advertise-peer-urls=http://127.0.0.1:${peer}`,
        `--initial-cluster=default=http://127.0.0.1:${peer}`,
      ],
    },
    { name: 'server', image: 'sample-apiserver:1', args: [`--etcd-servers=${etcd}`, `--secure-port=${port}`] },
  ]
  const rbac = 'rbac.authorization.k8s.io/v1'
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'wardle' } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: meta('apiserver') },
    {
      apiVersion: rbac,
      kind: 'ClusterRole',
      metadata: { name: 'wardle' },
      rules: Object.entries(rights).map(([apiGroup, resources]) => ({
        apiGroups: [apiGroup],
        resources,
        verbs: ['get', 'list', 'watch'],
      })),
    },
    ...['wardle', 'system:auth-delegator'].map((name) => ({
      apiVersion: rbac,
      kind: 'ClusterRoleBinding',
      metadata: { name: `wardle:${name}` },
      roleRef: roleRef('ClusterRole', name),
      subjects: [account],
    })),
    {
      apiVersion: rbac,
      kind: 'RoleBinding',
      metadata: { name: 'wardle', namespace: 'kube-system' },
      roleRef: roleRef('Role', 'extension-apiserver-authentication-reader'),
      subjects: [account],
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: meta('apiserver'),
      spec: {
        selector: { matchLabels: { app: 'apiserver' } },
        template: {
          metadata: { labels: { app: 'apiserver' } },
          spec: { serviceAccountName: 'apiserver', containers },
        },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: meta('api'),
      spec: { selector: { app: 'apiserver' }, ports: [{ port: 443, targetPort: port }] },
    },
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: `v1alpha1.${group}` },
      spec: {
        group,
        version: 'v1alpha1',
        groupPriorityMinimum: 1000,
        versionPriority: 15,
        insecureSkipTLSVerify: true,
        service: { namespace: 'wardle', name: 'api' },
      },
    },
  ]
}
