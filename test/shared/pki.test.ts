import { createPrivateKey, X509Certificate } from 'node:crypto'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import t from 'tap'
import { issueCertificate } from '../../shared/pki/certificate.ts'
import { type ClusterPkiOptions, ensureClusterPki } from '../../shared/pki/cluster-pki.ts'
import { integer } from '../../shared/pki/der.ts'
import { kubeconfig, writeKubeconfig } from '../../shared/pki/kubeconfig-file.ts'

const yearMs = 365 * 86_400_000
const options = (directory: string, changes: Partial<ClusterPkiOptions> = {}): ClusterPkiOptions => ({
  directory,
  nowMs: Date.parse('2026-11-21T12:00:00Z'),
  host: '127.0.0.1',
  serviceAddress: '10.96.0.1',
  nodeName: 'node-1',
  ...changes,
})

t.test('every certificate is signed by the CA and names its subject', async (t) => {
  const pki = ensureClusterPki(options(t.testdir()))
  const ca = new X509Certificate(pki.ca.cert)
  t.ok(ca.ca)
  const subjects = {
    apiServer: 'CN=kube-apiserver',
    apiServerKubeletClient: 'O=system:masters\nCN=kube-apiserver-kubelet-client',
    admin: 'O=system:masters\nCN=kubernetes-admin',
    kubeletClient: 'O=system:nodes\nCN=system:node:node-1',
    kubeletServer: 'O=system:nodes\nCN=system:node:node-1',
  } as const
  for (const [who, subject] of Object.entries(subjects)) {
    const certificate = new X509Certificate(pki[who as keyof typeof subjects].cert)
    t.equal(certificate.subject, subject)
    t.ok(certificate.checkIssued(ca) && certificate.verify(ca.publicKey), `${who} is signed by the CA`)
    t.notOk(certificate.ca)
  }
  const server = new X509Certificate(pki.apiServer.cert)
  for (const address of ['127.0.0.1', '::1', '10.96.0.1']) t.ok(server.checkIP(address), address)
  for (const name of ['localhost', 'kubernetes.default.svc.cluster.local']) t.ok(server.checkHost(name), name)
})

t.test('a second start finds the same certificates; files are private', async (t) => {
  const directory = t.testdir()
  const first = ensureClusterPki(options(directory))
  const again = ensureClusterPki(options(directory))
  t.equal(first.serviceAccountKey.kept(), undefined)
  const serviceAccountKey = await first.serviceAccountKey.make()
  t.same({ ...again, serviceAccountKey: again.serviceAccountKey.kept() }, { ...first, serviceAccountKey })
  for (const file of ['ca.key', 'apiserver.key', 'admin.crt', 'sa.key'])
    t.equal(statSync(join(directory, file)).mode & 0o777, 0o600, file)
})

t.test('keys are written as every client reads them; those of older folders become so', async (t) => {
  const directory = t.testdir()
  const older = ensureClusterPki(options(directory))
  for (const name of ['admin', 'ca']) {
    const file = join(directory, `${name}.key`)
    const pkcs8 = createPrivateKey(readFileSync(file, 'utf8')).export({ type: 'pkcs8', format: 'pem' }).toString()
    writeFileSync(file, pkcs8)
  }
  const pki = ensureClusterPki(options(directory))
  t.equal(pki.admin.cert, older.admin.cert, 'the certificate stays')
  await writeKubeconfig(join(directory, 'kubeconfig'), {
    name: 'k',
    server: 'https://x',
    ca: pki.ca.cert,
    user: pki.admin,
  })
  const { users } = load(readFileSync(join(directory, 'kubeconfig'), 'utf8')) as {
    users: { user: Record<string, string> }[]
  }
  const inFile = (name: string) => readFileSync(join(directory, `${name}.key`), 'utf8')
  const inKubeconfig = Buffer.from(users[0]?.user['client-key-data'] ?? '', 'base64').toString()
  for (const key of [inKubeconfig, ...['admin', 'ca', 'apiserver'].map(inFile)]) {
    t.match(key, /^-----BEGIN EC PRIVATE KEY-----\n/)
  }
  t.ok(new X509Certificate(pki.admin.cert).checkPrivateKey(createPrivateKey(inKubeconfig)))
})

t.test('a folder that is removed while a key is made does not come back', async (t) => {
  const directory = join(t.testdir(), 'removed')
  const making = ensureClusterPki(options(directory)).serviceAccountKey.make()
  rmSync(directory, { recursive: true })
  await t.rejects(making, { message: `${directory} no longer exists` })
  t.notOk(existsSync(directory))
})

t.test('what no longer fits is made again', async (t) => {
  const directory = t.testdir()
  const first = ensureClusterPki(options(directory))

  const elsewhere = ensureClusterPki(options(directory, { host: '192.0.2.7' }))
  t.equal(elsewhere.ca.cert, first.ca.cert)
  t.ok(new X509Certificate(elsewhere.apiServer.cert).checkIP('192.0.2.7'))

  const otherNode = ensureClusterPki(options(directory, { nodeName: 'node-2' }))
  t.match(new X509Certificate(otherNode.kubeletClient.cert).subject, 'CN=system:node:node-2')

  const later = { nowMs: options(directory).nowMs + 10 * yearMs }
  t.throws(() => ensureClusterPki(options(directory, later)), {
    message: /ca\.crt .*has expired.*; put back a copy, or/,
  })
  for (const part of ['ca.crt', 'ca.key']) rmSync(join(directory, part))
  const anew = ensureClusterPki(options(directory, later))
  const ca = new X509Certificate(anew.ca.cert)
  t.ok(new X509Certificate(anew.admin.cert).verify(ca.publicKey), 'and with the CA all that it signed')
  t.not(anew.frontProxyCa.cert, first.frontProxyCa.cert, 'the CA that the API publishes is replaced when it expires')
  const frontProxyCa = new X509Certificate(anew.frontProxyCa.cert)
  t.ok(new X509Certificate(anew.frontProxyClient.cert).verify(frontProxyCa.publicKey))
})

t.test('validity beyond 2049 is written in the long form', async (t) => {
  const validity = { notBefore: '2026-11-21T11:00:00Z', notAfter: '2056-11-21T11:00:00Z' }
  const { cert } = issueCertificate({ commonName: 'x', usage: 'ca', ...validity })
  t.equal(new X509Certificate(cert).validTo, 'Nov 21 11:00:00 2056 GMT')
})

t.test('an integer has no byte too many and is never negative', async (t) => {
  const written = (...bytes: number[]): string => integer(Buffer.from(bytes)).toString('hex')
  t.equal(written(0), '020100')
  t.equal(written(1), '020101')
  t.equal(written(0, 0, 0x7f, 1), '02027f01')
  t.equal(written(0x80), '02020080')
  t.equal(written(0, 0x80), '02020080')
})

t.test('kubeconfig: ours is written, theirs is kept', async (t) => {
  const directory = t.testdir()
  const file = join(directory, 'kubeconfig')
  const { ca, admin } = ensureClusterPki(options(directory))
  const write = (server: string): Promise<string | undefined> =>
    writeKubeconfig(file, { name: 'kubestage', server, ca: ca.cert, user: admin })

  await write('https://127.0.0.1:6443')
  const written = load(readFileSync(file, 'utf8')) as Record<string, unknown>
  t.same(written, kubeconfig({ name: 'kubestage', server: 'https://127.0.0.1:6443', ca: ca.cert, user: admin }))

  const chosen = {
    ...written,
    contexts: [
      { name: 'kubestage', context: { cluster: 'kubestage', user: 'kubestage', namespace: 'blue' } },
      { name: 'other', context: { cluster: 'other', user: 'other' } },
    ],
  }
  writeFileSync(file, JSON.stringify(chosen))
  await write('https://127.0.0.1:7443')
  t.match(load(readFileSync(file, 'utf8')), {
    clusters: [{ name: 'kubestage', cluster: { server: 'https://127.0.0.1:7443' } }],
    contexts: [{ name: 'other' }, { name: 'kubestage', context: { namespace: 'blue' } }],
  })
})
