/** A node's credentials, and a token with which one may join. */

import type { Question } from './ask.ts'
import { type Attempt, type Attempts, actAs, instruments, refused, type Setting } from './attempts.ts'
import { issued, signingRequest, type Wanted } from './certificates.ts'
import { core, merge, post } from './stage.ts'

const nodes = ['system:nodes']
const container = { name: 'c', image: 'busybox' }
const foreignCertificates = (nodeName: string): Wanted[] => [
  { commonName: 'admin', organizations: ['system:masters'], signer: 'kube-apiserver-client' },
  { commonName: 'admin', organizations: ['system:masters'], signer: 'kube-apiserver-client-kubelet' },
  { commonName: 'someone', signer: 'kube-apiserver-client' },
  { commonName: 'someone', organizations: nodes, signer: 'kube-apiserver-client-kubelet' },
  { commonName: `system:node:${nodeName}`, organizations: ['system:masters'], signer: 'kube-apiserver-client-kubelet' },
  {
    commonName: `system:node:${nodeName}`,
    organizations: [...nodes, 'system:masters'],
    signer: 'kube-apiserver-client-kubelet',
  },
  {
    commonName: `system:node:${nodeName}`,
    organizations: nodes,
    altNames: ['kubernetes.default.svc'],
    signer: 'kubelet-serving',
  },
]

/** None of these gets a certificate, though one that is asked for after them does. */
const notCertified =
  ({ stage: { admin } }: Setting, prefix: string, wanted: Wanted[], last: (name: string) => Promise<void>): Attempt =>
  async (t, client) => {
    for (const [i, each] of wanted.entries()) {
      const status = await client.status(signingRequest(`${prefix}-${i}`, each))
      t.ok([201, 400, 403].includes(status), `${status} for ${JSON.stringify(each)}`)
    }
    await last(`${prefix}-last`)
    const names = await issued(admin, `${prefix}-last`)
    t.same(
      names.filter((name) => name.startsWith(prefix)),
      [`${prefix}-last`],
    )
  }

export function nodeAttempts(setting: Setting): Attempts {
  const {
    ask,
    stage: { admin, nodeName },
  } = setting
  const owner = async (): Promise<object> => {
    await ask.node.ask(post('/api/v1/nodes', { metadata: { name: 'other' } }))
    const { metadata } = JSON.parse((await admin.ask({ path: '/api/v1/nodes/other' })).body) as {
      metadata: { uid: string }
    }
    return { apiVersion: 'v1', kind: 'Node', name: 'other', uid: metadata.uid, controller: true }
  }
  const mirror = async (spec: object): Promise<Question> =>
    post(`${core}/pods`, {
      metadata: {
        name: 'mirror',
        annotations: { 'kubernetes.io/config.mirror': 'x' },
        ownerReferences: [await owner()],
      },
      spec: { nodeName: 'other', containers: [container], automountServiceAccountToken: false, ...spec },
    })
  return {
    'read a Secret, a ConfigMap or a claim that none of its pods names': refused(
      ['secrets/some', 'configmaps/some', 'persistentvolumeclaims/some'].map((path) => ({ path: `${core}/${path}` })),
    ),
    'list or watch the Secrets of a namespace': refused([
      ...['', '?watch=true', '?fieldSelector=metadata.name%3Dsome'].map((query) => ({
        path: `${core}/secrets${query}`,
      })),
      { path: '/api/v1/secrets' },
      { path: '/api/v1/configmaps' },
    ]),
    'change another node, its lease, or its pods': refused([
      merge(`/api/v1/nodes/${nodeName}`, { metadata: { labels: { a: 'b' } } }),
      merge(`/api/v1/nodes/${nodeName}/status`, { status: { phase: 'x' } }),
      { method: 'DELETE', path: `/api/v1/nodes/${nodeName}` },
      merge(`/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${nodeName}`, {
        spec: { holderIdentity: 'x' },
      }),
      { method: 'DELETE', path: `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${nodeName}` },
      merge(`${core}/pods/web/status`, { status: { phase: 'Failed' } }),
      merge(`${core}/pods/web`, { metadata: { labels: { a: 'b' } } }),
      { method: 'DELETE', path: `${core}/pods/web` },
      { method: 'DELETE', path: `${core}/pods` },
      post(`${core}/pods/web/eviction`, { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'web' } }),
      post(`${core}/pods/web/binding`, { target: { kind: 'Node', name: 'other' } }),
    ]),
    'create a pod, but a mirror pod that names nothing of the API': async (t, client) => {
      t.equal(await client.status(await mirror({})), 201, 'a mirror pod')
      const named = [
        { serviceAccountName: 'default' },
        { volumes: [{ name: 'v', secret: { secretName: 'some' } }] },
        { volumes: [{ name: 'v', configMap: { name: 'some' } }] },
        { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'some' } }] },
        { imagePullSecrets: [{ name: 'some' }] },
        { containers: [{ ...container, envFrom: [{ secretRef: { name: 'some' } }] }] },
        { initContainers: [{ ...container, name: 'i', envFrom: [{ secretRef: { name: 'some' } }] }] },
        { nodeName },
      ]
      for (const spec of named) t.equal(await client.status(await mirror(spec)), 403, JSON.stringify(spec))
      const plain = { metadata: { name: 'plain' }, spec: { nodeName: 'other', containers: [container] } }
      t.equal(await client.status(post(`${core}/pods`, plain)), 403, 'a pod that is no mirror pod')
    },
    'create a token of a service account that none of its pods has': refused([
      post(`${core}/serviceaccounts/default/token`, { spec: { audiences: ['https://kubernetes.default.svc'] } }),
      post('/api/v1/namespaces/kube-system/serviceaccounts/default/token', { spec: {} }),
      post(`${core}/serviceaccounts/default/token`, {
        spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'x' } },
      }),
    ]),
    'get a certificate for another name': (t, client) =>
      notCertified(
        setting,
        'node',
        [
          ...foreignCertificates(nodeName),
          { commonName: `system:node:${nodeName}`, organizations: nodes, signer: 'kube-apiserver-client-kubelet' },
          {
            commonName: 'system:node:other',
            organizations: nodes,
            altNames: ['kubernetes.default.svc'],
            signer: 'kubelet-serving',
          },
          { commonName: 'system:node:other', organizations: nodes, altNames: [nodeName], signer: 'kubelet-serving' },
          { commonName: 'system:node:other', organizations: nodes, altNames: ['192.0.2.1'], signer: 'kubelet-serving' },
        ],
        async (name) => {
          const own: Wanted = {
            commonName: 'system:node:other',
            organizations: nodes,
            signer: 'kube-apiserver-client-kubelet',
          }
          t.equal(await client.status(signingRequest(name, own)), 201)
        },
      )(t, client),
    'give itself a label that keeps workloads apart': async (t, client) => {
      await owner()
      await refused(
        [
          'node-restriction.kubernetes.io/tenant',
          'team.node-restriction.kubernetes.io/a',
          'node-role.kubernetes.io/master',
        ].map((label) => merge('/api/v1/nodes/other', { metadata: { labels: { [label]: 'x' } } })),
      )(t, client)
    },
    'act as another user': actAs(setting),
    'use the journal, faults, snapshots or the clock': instruments,
  }
}

const requestsOfOthers = (path: string): boolean => path.includes('/certificatesigningrequests')
export const bootstrapAttempts = (setting: Setting): Attempts => ({
  'read, create, change or delete any object but a request for a certificate': refused(() =>
    setting.everyObject.filter(({ path }) => !requestsOfOthers(path)),
  ),
  'get a certificate for anything but a node': (t, client) =>
    notCertified(setting, 'token', foreignCertificates(setting.stage.nodeName), async (name) => {
      const joining: Wanted = {
        commonName: 'system:node:joining',
        organizations: nodes,
        signer: 'kube-apiserver-client-kubelet',
      }
      t.equal(await client.status(signingRequest(name, joining)), 201)
    })(t, client),
})
