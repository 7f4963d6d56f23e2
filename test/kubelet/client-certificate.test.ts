/** The kubelet's own credentials: joined for, renewed while it runs, joined for again when they have expired. */
import { createHash, X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ClientCertificate } from '../../kubelet/certificates/client-certificate.ts'
import { keepRenewed } from '../../kubelet/certificates/renewal.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import { loadKubeconfig } from '../../shared/client/kubeconfig.ts'
import { certificateSigningRequests, services } from '../../shared/client/resources.ts'
import { createRestClient, type ServerClient } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import { issueCertificate } from '../../shared/pki/certificate.ts'
import { kubeconfig } from '../../shared/pki/kubeconfig-file.ts'
import { startTestControlPlane } from '../harness/control-plane.ts'
import { until } from '../harness/until.ts'

const reviews = { group: 'authentication.k8s.io', version: 'v1', plural: 'selfsubjectreviews' }
const nodeName = 'n1'
const plane = await startTestControlPlane(t)
const server = `https://127.0.0.1:${plane.port}`
const { ca } = plane.tls

interface Review extends KubeObject {
  status: { userInfo: { username: string; extra: Record<string, string[]> } }
}
const whoAmI = async (client: ServerClient): Promise<string | undefined> => {
  const { status } = await client.create<Review>(reviews, { metadata: {} } as Review)
  return status.userInfo.extra['authentication.kubernetes.io/credential-id']?.[0]
}
const idOf = (cert = ''): string =>
  `X509SHA256=${createHash('sha256').update(new X509Certificate(cert).raw).digest('hex')}`
const requests = async (): Promise<number> => (await plane.client.list(certificateSigningRequests)).items.length

/**
 * A kubelet's files; `life`: when its certificate was and will be valid, in milliseconds from now. With `servers`, the
 * bootstrap kubeconfig names the first of them.
 */
function setUp(t: Test, life?: [fromMs: number, toMs: number], servers: string[] = []) {
  const folder = mkdtempSync(join(tmpdir(), 'kubestage-client-certificate-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const files = { kubeconfig: join(folder, 'kubeconfig'), bootstrapKubeconfig: join(folder, 'bootstrap') }
  const { tls } = plane
  writeFileSync(
    files.bootstrapKubeconfig,
    JSON.stringify(kubeconfig({ name: 'join', server: servers[0] ?? server, ca, user: tls })),
  )
  const [notBefore = '', notAfter = ''] = (life ?? []).map((ms) => toTime(Date.now() + ms))
  const wanted = { commonName: `system:node:${nodeName}`, organizations: ['system:nodes'], usage: 'client' as const }
  const old = life && issueCertificate({ ...wanted, notBefore, notAfter }, plane.ca)
  if (old) writeFileSync(files.kubeconfig, JSON.stringify(kubeconfig({ name: 'n', server, ca, user: old })))
  const errors: unknown[] = []
  const onError = (error: unknown): void => void errors.push(error)
  return {
    ...files,
    old,
    errors,
    certificate: new ClientCertificate({ ...files, servers, nodeName, clock: realClock, onError }),
  }
}
const [hour, day] = [3_600_000, 86_400_000]

for (const http2 of [true, false])
  t.test(`renewed by itself, on HTTP/${http2 ? 2 : 1}: what is under way is answered, watches end`, async (t) => {
    const { certificate, old, kubeconfig: file, errors } = setUp(t, [-100 * day, hour])
    const before = await requests()
    const client = createRestClient({ ...(await certificate.first()), clock: realClock, http2 })
    t.teardown(() => client.close())
    t.equal(await requests(), before, 'one that is valid for an hour is used')
    t.equal(await whoAmI(client), idOf(old?.cert))
    const { metadata } = await client.list(services)
    const watched = Array.fromAsync(client.watch(services, { resourceVersion: metadata.resourceVersion }))
    const many = Array.from({ length: 40 }, () => client.list(services))
    const ending = new AbortController()
    const kept = certificate.keep(client, ending.signal)
    await until(async () => (await whoAmI(client)) !== idOf(old?.cert), { what: 'another certificate' })
    t.equal((await Promise.all(many)).length, 40, 'none was lost')
    const renewed = await loadKubeconfig(file)
    t.equal(await whoAmI(client), idOf(renewed.cert), 'is kept for the next start')
    t.ok(new X509Certificate(renewed.cert ?? '').validToDate.getTime() > Date.now() + 30 * day)
    t.same(await watched, [], 'a watch ends, and is begun anew by whoever wants it')
    ending.abort()
    await kept
    t.same(errors, [])
  })

t.test('expired before the start: asked for with the bootstrap kubeconfig', async (t) => {
  const { certificate, old, kubeconfig: file } = setUp(t, [-2 * day, -hour])
  const access = await certificate.first()
  t.not(access.cert, old?.cert)
  t.equal((await loadKubeconfig(file)).cert, access.cert)
})

t.test('the first of several API servers is away: the next is asked for the certificate', async (t) => {
  const away = 'https://127.0.0.1:1'
  const { certificate, kubeconfig: file, errors } = setUp(t, undefined, [away, server])
  const { cert } = await certificate.first()
  t.equal((await loadKubeconfig(file)).cert, cert)
  t.equal(errors.length, 1, 'each try is with another server')
})

t.test('a kubeconfig that cannot be read is replaced', async (t) => {
  const { certificate, kubeconfig: file } = setUp(t)
  writeFileSync(file, '')
  const { cert } = await certificate.first()
  t.equal((await loadKubeconfig(file)).cert, cert)
})

t.test('expired at run time, while the API server was away: asked for with the bootstrap kubeconfig', async (t) => {
  const { certificate, old, errors } = setUp(t, [-1_000, 3_000])
  const access = await certificate.first()
  t.equal(access.cert, old?.cert)
  // An API server that is away, to the kubelet's own client.
  const away = createRestClient({ ...access, server: 'https://127.0.0.1:1', clock: realClock })
  const used: string[] = []
  const ending = new AbortController()
  t.teardown(() => Promise.all([away.close(), kept]))
  const kept = certificate.keep(
    {
      create: (...words) => away.create(...words),
      watch: (...words) => away.watch(...words),
      useCertificate: ({ cert }) => void used.push(cert),
    },
    ending.signal,
  )
  await until(() => used.length > 0, { what: 'another certificate' })
  t.ok(new X509Certificate(used[0] ?? '').checkIssued(new X509Certificate(ca)))
  t.match(errors[0], { message: /ECONNREFUSED/ }, 'tried with its own first')
  ending.abort()
})

t.test('it asks after 70 to 90 % of the life', async (t) => {
  for (const [chance, due] of [
    [0, 70],
    [1, 90],
  ] as const) {
    const clock = createVirtualClock()
    const [notBefore, notAfter] = [0, 100 * day].map((ms) => toTime(clock.now() + ms)) as [string, string]
    const pair = issueCertificate({ commonName: 'x', usage: 'client', notBefore, notAfter })
    const ending = new AbortController()
    let asked = 0
    const kept = keepRenewed(pair, {
      clock,
      random: () => chance,
      request: () => Promise.reject(new Error(`no ${++asked}`)),
      use: () => {},
      onError: () => {},
      signal: ending.signal,
    })
    await clock.advance(due * day - hour)
    t.equal(asked, 0)
    await clock.advance(2 * hour)
    t.ok(asked > 10, 'again and again until it has one')
    ending.abort()
    await clock.advance(day)
    await kept
  }
})

t.test('certificates that are old when they are issued are not asked for without a pause', async (t) => {
  const clock = createVirtualClock()
  const pairNow = () => {
    const [notBefore, notAfter] = [-300, 20].map((s) => toTime(clock.now() + s * 1_000)) as [string, string]
    return issueCertificate({ commonName: 'x', usage: 'client', notBefore, notAfter })
  }
  const ending = new AbortController()
  let asked = 0
  const kept = keepRenewed(undefined, {
    clock,
    async request() {
      if (++asked > 50) ending.abort()
      return pairNow()
    },
    use: () => {},
    onError: () => {},
    signal: ending.signal,
  })
  await clock.advance(100_000)
  t.ok(asked >= 5 && asked <= 11, `${asked} in 100 s`)
  ending.abort()
  await kept
})
