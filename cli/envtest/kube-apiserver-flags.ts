import { parseGoFlags } from './go-flags.ts'

/** What each flag does here; the names are upstream's but for the last two. */
export const kubeApiserverFlags = {
  'bind-address': 'address to listen on (default 127.0.0.1)',
  'secure-port': 'port to listen on (default 6443)',
  'cert-dir': 'folder of apiserver.crt and apiserver.key, which are made where missing',
  'tls-cert-file': 'certificate to serve with, instead of the one in --cert-dir',
  'tls-private-key-file': 'its key',
  'client-ca-file': 'whose client certificates are believed',
  'service-cluster-ip-range': 'range of cluster IPs (default 10.0.0.0/24)',
  'authorization-mode': 'AlwaysAllow: whoever is known may do everything (default RBAC)',
  'disable-admission-plugins': 'admission plugins to leave out',
  'feature-gates': 'features on or off, those that Kubestage knows',
  'service-account-signing-key-file': 'key that signs the tokens of service accounts',
  'kubestage-controllers': 'run the controllers and the scheduler as well',
  'kubestage-node': 'run them, and a kubelet: pods are processes of this machine',
} as const

type Flag = keyof typeof kubeApiserverFlags

/** Taken without a word: what they ask for is so anyway, or makes no difference to a client. */
const taken = new Set([
  'advertise-address',
  'allow-privileged',
  'enable-admission-plugins',
  'etcd-prefix',
  'etcd-servers',
  'insecure-port',
  'logtostderr',
  'runtime-config',
  'service-account-issuer',
  'service-account-key-file',
  'storage-backend',
  'v',
])

export interface KubeApiserverSettings {
  host: string
  port: number
  certDir: string
  certFile?: string
  keyFile?: string
  clientCaFile?: string
  signingKeyFile?: string
  serviceCidr: string
  alwaysAllow: boolean
  disabledAdmissionPlugins: string[]
  featureGates: Record<string, boolean>
  controllers: boolean
  node: boolean
  /** Flags that do nothing here. */
  ignored: string[]
}

export function readKubeApiserverFlags(args: readonly string[]): KubeApiserverSettings {
  const flags = parseGoFlags(args)
  const get = (name: Flag): string | undefined => flags.get(name) || undefined
  const node = get('kubestage-node') === 'true'
  return {
    host: get('bind-address') ?? '127.0.0.1',
    port: Number(get('secure-port') ?? 6443),
    certDir: get('cert-dir') ?? '.kubestage/envtest',
    certFile: get('tls-cert-file'),
    keyFile: get('tls-private-key-file'),
    clientCaFile: get('client-ca-file'),
    signingKeyFile: get('service-account-signing-key-file'),
    serviceCidr: get('service-cluster-ip-range')?.split(',')[0] ?? '10.0.0.0/24',
    alwaysAllow: list(get('authorization-mode')).includes('AlwaysAllow'),
    disabledAdmissionPlugins: list(get('disable-admission-plugins')),
    featureGates: Object.fromEntries(
      list(get('feature-gates')).map((gate) => [gate.split('=')[0] ?? '', gate.endsWith('=true')]),
    ),
    controllers: node || get('kubestage-controllers') === 'true',
    node,
    ignored: [...flags.keys()].filter((name) => !(name in kubeApiserverFlags || taken.has(name))),
  }
}

const list = (value = ''): string[] => value.split(',').filter(Boolean)
