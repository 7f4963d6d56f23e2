/** Lists and maps of other kinds. */
import { times } from '../../times.ts'
import { as, container, created, meta, patch, post, put, remove, type Situation, statusOf, turned } from './writing.ts'

/** The public key of an RSA certificate authority without a private key; it only has to be readable. */
const signingRequest =
  'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlISE1HNENBUUF3RERFS01BZ0dBMVVFQXd3QllUQlpNQk1HQnlxR1NNNDlBZ0VHQ0NxR1NNNDlBd0VIQTBJQQpCTVRiZFFoY3k0blV1emJyb2RJRUdsYmh0UytlOXdhVjNSVXViajlsOHhsR2FhUS9VOEQxWnFlTWNhdUVPRUxqCmpOT3pocHc5QzByZ3hlYWFXM2JzSFFPZ0FEQUtCZ2dxaGtqT1BRUURBZ05KQURCR0FpRUFpZURFTXorRkh5ZUwKbVYvRExYaTErTmZvcy9lZ000by8vTEUxWmxpUlJBZ0NJUUNESmIzQ0swaTh2YmpNSW5ncWkvdUVXaVZiMHgxUQpIOVdTazlOcEZOcEcydz09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo='

export const otherSituations: Situation[] = [
  created('claims and volumes of a StatefulSet', '/apis/apps/v1/namespaces/default/statefulsets', (size) => ({
    metadata: meta,
    spec: {
      serviceName: 'a',
      selector: { matchLabels: { a: 'b' } },
      template: {
        metadata: { labels: { a: 'b' } },
        spec: { containers: [container], volumes: times(size, (i) => ({ name: `v${i}`, emptyDir: {} })) },
      },
      volumeClaimTemplates: times(size, (i) => ({
        metadata: { name: `c${i}` },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1' } } },
      })),
    },
  })),
  {
    name: 'addresses of an Ingress that is updated',
    work(size) {
      const path = '/apis/networking.k8s.io/v1/namespaces/default/ingresses'
      const object = (isNew: boolean) => ({
        metadata: meta,
        spec: { defaultBackend: { service: { name: 'a', port: { number: 80 } } } },
        status: {
          loadBalancer: {
            ingress: turned(
              isNew,
              times(size, (i) => ({ ip: `10.0.${i >> 8}.${i & 255}` })),
            ),
          },
        },
      })
      return {
        before: [post(path, object(false)), patch(`${path}/large/status`, statusOf(object(false)))],
        measured: [patch(`${path}/large/status`, statusOf(object(true)))],
        after: [remove(`${path}/large`)],
      }
    },
  },
  {
    name: 'conditions of a certificate signing request',
    work(size) {
      const path = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
      const conditions = times(size, (i) => ({ type: `C${i}`, status: 'True' }))
      const object = (isNew: boolean) => ({
        metadata: meta,
        spec: { request: signingRequest, signerName: 'example.com/a', usages: ['client auth'] },
        status: { conditions: turned(isNew, conditions) },
      })
      return {
        before: [post(path, object(false)), patch(`${path}/large/status`, statusOf(object(false)))],
        measured: [patch(`${path}/large/status`, statusOf(object(true)))],
        after: [remove(`${path}/large`)],
      }
    },
  },
  {
    name: 'rules that a user holds and grants',
    work(size) {
      const rbac = '/apis/rbac.authorization.k8s.io/v1'
      const rules = times(size, (i) => ({ apiGroups: [''], resources: [`r${i}`], verbs: ['get'] }))
      const own = [
        ...rules,
        { apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], verbs: ['create'] },
      ]
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'own' }
      const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'granter' }]
      const granted = { metadata: meta, rules: rules.toReversed() }
      return {
        before: [
          post(`${rbac}/clusterroles`, { metadata: { name: 'own' }, rules: own }),
          post(`${rbac}/clusterrolebindings`, { metadata: { name: 'own' }, roleRef, subjects }),
        ],
        measured: [post(`${rbac}/clusterroles`, granted, as('granter', 'system:authenticated'))],
        after: ['clusterroles/large', 'clusterroles/own', 'clusterrolebindings/own'].map((one) =>
          remove(`${rbac}/${one}`),
        ),
      }
    },
  },
  {
    name: 'labels and taints of a node, from its kubelet',
    work(size) {
      const node = (isNew: boolean) => ({
        metadata: {
          ...meta,
          labels: Object.fromEntries(
            turned(
              isNew,
              times(size, (i) => [`a.example.com/k${i}`, 'v']),
            ),
          ),
        },
        spec: {
          taints: turned(
            isNew,
            times(size, (i) => ({ key: `k${i}`, effect: 'NoSchedule' })),
          ),
        },
      })
      const kubelet = as('system:node:large', 'system:nodes')
      return {
        before: [post('/api/v1/nodes', node(false))],
        measured: [put('/api/v1/nodes/large', node(true), kubelet)],
        after: [remove('/api/v1/nodes/large')],
      }
    },
  },
]
