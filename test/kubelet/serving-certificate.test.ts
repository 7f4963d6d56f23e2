import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ServingCertificate } from '../../kubelet/certificates/serving-certificate.ts'
import { nodes } from '../../shared/client/resources.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import { issueCertificate } from '../../shared/pki/certificate.ts'
import { writePrivately } from '../../shared/pki/files.ts'
import { startTestControlPlane, type TestControlPlane } from '../harness/control-plane.ts'
import { until } from '../harness/until.ts'

const nodeName = 'n1'
const nodeIP = '127.0.0.1'

function folder(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'kubestage-serving-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  return directory
}

function start(t: Test, plane: TestControlPlane, directory: string): X509Certificate[] {
  const used: X509Certificate[] = []
  const stopping = new AbortController()
  const onError = (error: unknown) => t.fail(String(error))
  const client = plane.nodeClient(nodeName)
  const serving = new ServingCertificate({ client, directory, nodeName, nodeIP, clock: realClock, onError })
  const kept = serving.keep(({ cert }) => used.push(new X509Certificate(cert)), stopping.signal)
  t.teardown(() => {
    stopping.abort()
    return kept
  })
  used.push(new X509Certificate(serving.first().cert))
  return used
}

const register = ({ client }: TestControlPlane) =>
  client.create(nodes, {
    metadata: { name: nodeName },
    status: { addresses: [{ type: 'InternalIP', address: nodeIP }] },
  })

t.test('a kubelet serves before its node is registered, and gets its certificate afterwards', async (t) => {
  const plane = await startTestControlPlane(t)
  const used = start(t, plane, folder(t))
  t.equal(used[0]?.issuer, `CN=${nodeName}`, 'self-signed')
  await register(plane)
  await until(() => used.length === 2, { what: 'a certificate of the cluster' })
  t.ok(used[1]?.checkIssued(new X509Certificate(plane.tls.ca)), 'signed by the cluster')
  t.equal(used[1]?.checkIP(nodeIP), nodeIP)
})

t.test('a certificate near its end is replaced at run time', async (t) => {
  const plane = await startTestControlPlane(t)
  await register(plane)
  const directory = folder(t)
  const [notBefore, notAfter] = [-100, 2].map((days) => toTime(Date.now() + days * 86_400_000))
  const old = issueCertificate({
    commonName: `system:node:${nodeName}`,
    altNames: [nodeName, nodeIP],
    usage: 'server',
    notBefore: notBefore!,
    notAfter: notAfter!,
  })
  writePrivately(join(directory, 'kubelet-serving.crt'), old.cert)
  writePrivately(join(directory, 'kubelet-serving.key'), old.key)
  const used = start(t, plane, directory)
  await until(() => used.some((certificate) => certificate.validToDate.getTime() > Date.now() + 30 * 86_400_000), {
    what: 'a new certificate',
  })
  t.equal(used[0]?.serialNumber, new X509Certificate(old.cert).serialNumber, 'until then the old one serves')
})
