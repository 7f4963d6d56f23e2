import { isIP } from 'node:net'
import { bootstrappersGroup, nodeTokenGroup } from '../api/bootstrap-token.ts'
import type { KeyPair } from './certificate.ts'
import { ensureCertificate, type Identity } from './certificate-store.ts'
import { type SigningKeySource, signingKeyIn } from './signing-key.ts'

/**
 * Holds the certificates and keys of a cluster. The kubelet's certificates, and the API server's client certificate for
 * kubelets, are read or created on first use, because not every cluster needs them.
 */
export interface ClusterPki {
  ca: KeyPair
  apiServer: KeyPair
  apiServerKubeletClient: KeyPair
  /** Signs the certificate by which servers of APIServices know the API server. */
  frontProxyCa: KeyPair
  /** Holds the certificate that the API server shows to servers of APIServices. */
  frontProxyClient: KeyPair
  admin: KeyPair
  /** Holds the kubelet's certificate as a client of the API server; `kubeletServer` is its server certificate. */
  kubeletClient: KeyPair
  kubeletServer: KeyPair
  serviceAccountKey: SigningKeySource
}

export interface ClusterPkiOptions {
  directory: string
  nowMs: number
  /** The address at which the API server listens. */
  host: string
  /** Holds the first address of the service range. */
  serviceAddress: string
  nodeName: string
  /** Lists more names and addresses of the API server. */
  altNames?: readonly string[]
}

const loopback = ['127.0.0.1', '::1', 'localhost']
const serviceNames = [
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
]
/** The URL by which every pod reaches the API server. */
export const serviceUrl = 'https://kubernetes.default.svc.cluster.local'
const masters = 'system:masters'

/** The cluster's certificates, kept in `directory`; missing, expired and no longer fitting ones are made. */
export function ensureClusterPki(options: ClusterPkiOptions): ClusterPki {
  const { directory, nowMs, host, serviceAddress, nodeName, altNames = [] } = options
  const ca = ensureCertificate(directory, { name: 'ca', commonName: 'kubestage-ca', usage: 'ca' }, nowMs)
  const issue = (identity: Identity): KeyPair => ensureCertificate(directory, identity, nowMs, ca)
  const apiServerKubeletClient = once(() =>
    issue({
      name: 'apiserver-kubelet-client',
      commonName: 'kube-apiserver-kubelet-client',
      organizations: [masters],
      usage: 'client',
    }),
  )
  const frontProxyCa = ensureCertificate(
    directory,
    { name: 'front-proxy-ca', commonName: 'front-proxy-ca', usage: 'ca', isPublished: true },
    nowMs,
  )
  const frontProxyClient = once(() =>
    ensureCertificate(
      directory,
      { name: 'front-proxy-client', commonName: 'front-proxy-client', usage: 'client' },
      nowMs,
      frontProxyCa,
    ),
  )
  const kubelet = { commonName: `system:node:${nodeName}`, organizations: ['system:nodes'] }
  const kubeletClient = once(() => issue({ ...kubelet, name: 'kubelet-client', usage: 'client' }))
  const kubeletServer = once(() =>
    issue({ ...kubelet, name: 'kubelet', usage: 'server', altNames: [...new Set([...loopback, nodeName])] }),
  )
  return {
    ca,
    apiServer: issue({
      name: 'apiserver',
      commonName: 'kube-apiserver',
      usage: 'server',
      altNames: [...new Set([...loopback, ...serviceNames, serviceAddress, ...reachableAs(host), ...altNames])],
    }),
    admin: issue({ name: 'admin', commonName: 'kubernetes-admin', organizations: [masters], usage: 'client' }),
    frontProxyCa,
    get frontProxyClient() {
      return frontProxyClient()
    },
    get apiServerKubeletClient() {
      return apiServerKubeletClient()
    },
    get kubeletClient() {
      return kubeletClient()
    },
    get kubeletServer() {
      return kubeletServer()
    },
    serviceAccountKey: signingKeyIn(directory),
  }
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

/**
 * Returns the certificate of a machine that wants to join. It may request a kubelet's certificate, and nothing else.
 */
export function ensureBootstrapper(
  { directory, nowMs }: Pick<ClusterPkiOptions, 'directory' | 'nowMs'>,
  ca: KeyPair,
): KeyPair {
  const identity = {
    name: 'bootstrap',
    commonName: 'system:bootstrap:kubelet',
    organizations: [bootstrappersGroup, nodeTokenGroup],
    usage: 'client',
  } as const
  return ensureCertificate(directory, identity, nowMs, ca)
}

/** Returns the client certificate of control loops that run beside the API server. */
export function ensureControllersClient(
  { directory, nowMs }: Pick<ClusterPkiOptions, 'directory' | 'nowMs'>,
  ca: KeyPair,
): KeyPair {
  const commonName = 'system:kube-controller-manager'
  const identity = { name: 'controllers', commonName, organizations: [masters], usage: 'client' } as const
  return ensureCertificate(directory, identity, nowMs, ca)
}

/** "All addresses" is no name a client can use. */
function reachableAs(host: string): string[] {
  return isIP(host) && /^[0:.]+$/.test(host) ? [] : [host]
}
