import { createServer as createHttp } from 'node:http'
import { createServer, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo, Server } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { encode } from '../../../apiserver/storage/etcd/codec.ts'
import { openStorage, parseStorage } from '../../../apiserver/storage/open-storage.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { frame } from '../../../shared/grpc/framing.ts'
import { ensureCertificate } from '../../../shared/pki/certificate-store.ts'
import { etcdPrograms, missingEtcd, startEtcd } from '../../harness/etcd.ts'
import { etcdctl, missingTools } from '../../harness/etcd-tools.ts'
import { scratchFolder } from '../../harness/scratch.ts'
import { skipOrFail } from '../../harness/skip.ts'

const start = (place: string, options: object = {}) =>
  openStorage(parseStorage(`etcd:${place}`), { clock: realClock, ...options }).then((storage) => storage.close())

async function listening(t: Test, server: Server): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Speaks gRPC, and answers each call so. */
async function fakeEtcd(t: Test, answer: (stream: ServerHttp2Stream) => void): Promise<string> {
  const server = createServer()
  server.on('session', (session) => t.teardown(() => session.destroy()))
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.resume()
    stream.on('error', () => {})
    answer(stream)
  })
  return listening(t, server)
}

const head = { ':status': 200, 'content-type': 'application/grpc' }

function ofVersion(version: string): (stream: ServerHttp2Stream) => void {
  return (stream) => {
    stream.respond(head, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
    stream.end(frame(encode('StatusResponse', { version })))
  }
}
const refusing =
  (code: number, message: string) =>
  (stream: ServerHttp2Stream): void =>
    stream.respond({ ...head, 'grpc-status': String(code), 'grpc-message': message }, { endStream: true })

t.test('an etcd that is too old, or is none, is named with the remedy', async (t) => {
  const old = createHttp((_, response) => response.end('{"etcdserver":"2.3.8","etcdcluster":"2.3.0"}'))
  const refused: [place: string, message: RegExp][] = [
    [await fakeEtcd(t, ofVersion('3.3.27')), /^etcd at \S+ is version 3\.3\.27; use etcd 3\.4 or later$/],
    [await fakeEtcd(t, ofVersion('')), /^etcd at \S+ is version .*; use etcd 3\.4 or later$/],
    [
      await fakeEtcd(t, refusing(12, 'unknown service etcdserverpb.Maintenance')),
      /^etcd at \S+ does not speak etcd's API of version 3 \(unknown service .*\); use etcd 3\.4 or later$/,
    ],
    [
      await fakeEtcd(t, refusing(7, 'etcdserver: permission denied')),
      /^etcd at \S+ refuses us \(.*\); pass the certificate of a user that may use the prefix with --etcd-certfile$/,
    ],
    [await fakeEtcd(t, (stream) => stream.respond({ ':status': 404 }, { endStream: true })), /HTTP status 404/],
    [await listening(t, old), /^etcd at \S+ does not speak etcd's API of version 3 \(.*\); use etcd 3\.4 or later$/],
  ]
  for (const [place, message] of refused) await t.rejects(start(place), { name: 'ConfigError', message }, `${message}`)
})

const programs = etcdPrograms()
for (const reason of missingEtcd(programs)) skipOrFail(t, reason)

for (const program of programs) {
  t.test(`etcd ${program.version}: certificates, schemes and users that do not fit`, async (t) => {
    const plain = await startEtcd(t, program)
    await t.rejects(start(plain.url.replace('http:', 'https:')), {
      name: 'ConfigError',
      message:
        /^etcd at \S+ cannot be reached: it closed the connection during the TLS handshake; start it, or name it with http:/,
    })

    const folder = scratchFolder(t, 'etcd-pki')
    const file = (name: string): string => join(folder, name)
    const nowMs = realClock.now()
    const ca = ensureCertificate(folder, { name: 'ca', commonName: 'etcd-ca', usage: 'ca' }, nowMs)
    const hosts = { commonName: 'etcd', usage: 'server', altNames: ['etcd.example.com'] } as const
    ensureCertificate(folder, { name: 'elsewhere', ...hosts }, nowMs, ca)
    const args = ['--cert-file', file('elsewhere.crt'), '--key-file', file('elsewhere.key')]
    // Its own harness cannot ask it, so it is asked here.
    const etcd = await startEtcd(t, program, { scheme: 'https', args, waits: false })
    await t.rejects(start(etcd.url, { etcdCafile: file('ca.crt') }), {
      name: 'ConfigError',
      message: /^etcd at \S+ cannot be used: its certificate is for another host \(.*\); check the URL$/,
    })
    const missing = missingTools(program)
    if (missing) return skipOrFail(t, missing)
    await etcdctl(plain, 'user', 'add', 'root:secret')
    await etcdctl(plain, 'user', 'grant-role', 'root', 'root').catch(() => {})
    await etcdctl(plain, 'auth', 'enable')
    await t.rejects(start(plain.url), {
      name: 'ConfigError',
      message:
        /^etcd at \S+ refuses us \(.*\); pass the certificate of a user that may use the prefix with --etcd-certfile$/,
    })
  })
}
