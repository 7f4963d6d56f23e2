import { X509Certificate } from 'node:crypto'
import type { V1CertificateSigningRequest } from '@kubernetes/client-node'
import t from 'tap'
import { approvals } from '../../controllers/certificates/approval.ts'
import { isOver } from '../../controllers/certificates/cleaning.ts'
import { signers } from '../../controllers/certificates/signers.ts'
import type { WithMeta } from '../../shared/api/types.ts'
import { certificateSigningRequests } from '../../shared/client/resources.ts'
import {
  createSigningRequest,
  readSigningRequest,
  type SigningRequestOptions,
} from '../../shared/pki/signing-request.ts'
import { startTestControlPlane } from '../harness/control-plane.ts'

type Request = WithMeta<V1CertificateSigningRequest>

const parsed = (options: SigningRequestOptions) => readSigningRequest(createSigningRequest(options).request)
const node = { commonName: 'system:node:n', organizations: ['system:nodes'] }
const clientSigner = 'kubernetes.io/kube-apiserver-client-kubelet'
const servingSigner = 'kubernetes.io/kubelet-serving'
const clientUsages = ['digital signature', 'client auth']
const servingUsages = ['digital signature', 'key encipherment', 'server auth']

t.test("what each of Kubernetes' signers insists on", async (t) => {
  const refusal = (signer: string, options: SigningRequestOptions, usages: string[]) =>
    signers[signer]!.refusal(parsed(options), usages)
  t.equal(refusal(clientSigner, node, clientUsages), undefined)
  t.match(refusal(clientSigner, { ...node, altNames: ['a'] }, clientUsages), 'DNS subjectAltNames')
  t.match(refusal(clientSigner, { ...node, altNames: ['10.0.0.1'] }, clientUsages), 'IP subjectAltNames')
  t.match(refusal(clientSigner, { ...node, organizations: ['system:masters'] }, clientUsages), 'organization')
  t.match(refusal(clientSigner, { ...node, commonName: 'jane' }, clientUsages), 'common name')
  t.match(refusal(clientSigner, node, [...clientUsages, 'server auth']), 'usages')
  t.equal(refusal(servingSigner, { ...node, altNames: ['n', '10.0.0.1'] }, servingUsages), undefined)
  t.match(refusal(servingSigner, node, servingUsages), 'subjectAltName is required')
  t.match(refusal(servingSigner, { ...node, altNames: ['n'] }, clientUsages), 'usages')
  t.equal(refusal('kubernetes.io/kube-apiserver-client', { commonName: 'jane' }, ['client auth']), undefined)
  t.match(refusal('kubernetes.io/kube-apiserver-client', { commonName: 'jane' }, ['server auth']), 'usages')
})

t.test('only kubelets are approved without a person', async (t) => {
  const newcomer = { username: 'system:bootstrap:x', groups: ['system:bootstrappers'] }
  const permissions = (signer: string, who: typeof newcomer) =>
    approvals(signer, parsed(node), clientUsages, who).map(({ permission }) => permission)
  const itself = { username: node.commonName, groups: ['system:nodes'] }
  const other = { username: 'system:node:other', groups: ['system:nodes'] }
  const serving = parsed({ ...node, altNames: ['n'] })
  t.same(permissions(clientSigner, newcomer), ['nodeclient'])
  t.same(permissions(clientSigner, itself), ['selfnodeclient', 'nodeclient'])
  t.same(permissions(clientSigner, other), ['nodeclient'], "not another node's own")
  const own = { name: 'n', addresses: ['10.0.0.1'] }
  const approves = (altNames: string[], known: typeof own | null = own, name = 'n') =>
    approvals(
      servingSigner,
      parsed({ commonName: `system:node:${name}`, organizations: ['system:nodes'], altNames }),
      servingUsages,
      { username: `system:node:${name}`, groups: ['system:nodes'] },
      known ?? undefined,
    ).length > 0
  t.ok(approves(['n']))
  t.ok(approves(['n', '10.0.0.1']))
  t.notOk(approves(['n'], null), 'the node is not registered yet')
  for (const foreign of ['kubernetes.default.svc', 'victim.example.com', 'other', '10.0.0.2', '10.96.0.1'])
    t.notOk(approves(['n', foreign]), foreign)
  for (const name of ['kubernetes', 'kubernetes.default.svc', 'web.shop.svc.cluster.local', 'localhost'])
    t.notOk(approves([name], { ...own, name }, name), `a node named ${name}`)
  t.same(approvals(servingSigner, serving, servingUsages, newcomer), [])
  t.same(permissions('kubernetes.io/kube-apiserver-client', newcomer), [])
})

t.test('requests go when they are over', async (t) => {
  const at = (iso: string): number => Date.parse(iso)
  const request = (conditions: object[], certificate?: string) =>
    ({
      metadata: { creationTimestamp: '2026-01-01T00:00:00Z' },
      status: { conditions, certificate },
    }) as unknown as Request
  const decided = (type: string) => ({ type, status: 'True', lastUpdateTime: '2026-01-01T00:00:00Z' })
  t.notOk(isOver(request([]), at('2026-01-01T23:00:00Z')))
  t.ok(isOver(request([]), at('2026-01-02T01:00:00Z')))
  t.notOk(isOver(request([decided('Denied')]), at('2026-01-01T00:50:00Z')))
  t.ok(isOver(request([decided('Denied')]), at('2026-01-01T01:10:00Z')))
  t.notOk(isOver(request([decided('Approved')]), at('2026-01-01T01:10:00Z')), 'approved, but not signed yet')
  t.ok(isOver(request([decided('Approved')], 'eA=='), at('2026-01-01T01:10:00Z')))
})

t.test('approved by a person, signed by the cluster', async (t) => {
  const { client, ca } = await startTestControlPlane(t)
  const ask = (name: string, commonName: string, usages: string[]) =>
    client.create<Request>(certificateSigningRequests, {
      metadata: { name },
      spec: {
        request: Buffer.from(createSigningRequest({ commonName }).request).toString('base64'),
        signerName: 'kubernetes.io/kube-apiserver-client',
        expirationSeconds: 3_600,
        usages,
      },
    })
  const approve = (request: Request) =>
    client.update(
      certificateSigningRequests,
      { ...request, status: { conditions: [{ type: 'Approved', status: 'True', reason: 'ok' }] } },
      { subresource: 'approval' },
    )
  const settled = async (name: string): Promise<Request> => {
    const watch = client.watch<Request>(certificateSigningRequests, {
      fieldSelector: `metadata.name=${name}`,
      sendInitialEvents: true,
      timeoutSeconds: 10,
    })
    for await (const { object } of watch)
      if (object.status?.certificate || object.status?.conditions?.some(({ type }) => type === 'Failed')) return object
    throw new Error('not signed in time')
  }

  await approve(await ask('jane', 'jane', ['client auth']))
  const signed = new X509Certificate(Buffer.from((await settled('jane')).status!.certificate!, 'base64'))
  t.equal(signed.subject, 'CN=jane')
  t.ok(signed.verify(new X509Certificate(ca.cert).publicKey))
  t.ok(signed.validToDate.getTime() - Date.now() <= 3_600_000)

  await approve(await ask('web', 'web', ['server auth']))
  t.match((await settled('web')).status?.conditions?.at(-1), { type: 'Failed', reason: 'SignerValidationFailure' })
})
