import { join } from 'node:path'
import type { Test } from 'tap'
import { realClock } from '../../shared/clock/real-clock.ts'
import { ensureCertificate } from '../../shared/pki/certificate-store.ts'
import { type EtcdProgram, type RunningEtcd, startEtcd } from './etcd.ts'
import { scratchFolder } from './scratch.ts'

export interface TlsEtcd {
  etcd: RunningEtcd
  /** Path of `ca.crt`, `client.crt`, `client.key`; of `other.crt` and `other.key`, which are of another CA. */
  file(name: string): string
  /** What a client of it is started with, by the names of the flags. */
  mine: { etcdCafile: string; etcdCertfile: string; etcdKeyfile: string }
}

/** An etcd that asks its clients for a certificate. */
export async function startTlsEtcd(t: Test, program: EtcdProgram): Promise<TlsEtcd> {
  const folder = scratchFolder(t, 'etcd-pki')
  const nowMs = realClock.now()
  const ca = ensureCertificate(folder, { name: 'ca', commonName: 'etcd-ca', usage: 'ca' }, nowMs)
  const server = { name: 'server', commonName: 'etcd', usage: 'server', altNames: ['127.0.0.1'] } as const
  ensureCertificate(folder, server, nowMs, ca)
  const client = ensureCertificate(folder, { name: 'client', commonName: 'root', usage: 'client' }, nowMs, ca)
  ensureCertificate(folder, { name: 'other', commonName: 'other-ca', usage: 'ca' }, nowMs)
  const file = (name: string): string => join(folder, name)
  const etcd = await startEtcd(t, program, {
    scheme: 'https',
    tls: { ca: ca.cert, cert: client.cert, key: client.key },
    args: [
      ...['--cert-file', file('server.crt'), '--key-file', file('server.key')],
      ...['--client-cert-auth', '--trusted-ca-file', file('ca.crt')],
    ],
  })
  const mine = { etcdCafile: file('ca.crt'), etcdCertfile: file('client.crt'), etcdKeyfile: file('client.key') }
  return { etcd, file, mine }
}
