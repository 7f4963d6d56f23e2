import { defaultFeatureGates, type FeatureGates } from '../../shared/config/feature-gates.ts'
import { ConfigError } from '../../shared/config/option.ts'
import { cidr, flag, port } from '../../shared/config/option-types.ts'
import { parseGoFlags, refuseUnknown } from './go-flags.ts'
import { upstreamKubeApiserverFlags } from './upstream-flags.ts'

/** Says what each flag does in Kubestage. All names but the last two are kube-apiserver's. */
export const kubeApiserverFlags = {
  'bind-address': 'address to listen on (default 127.0.0.1)',
  'secure-port': 'port to listen on (default 6443)',
  'cert-dir': 'folder of apiserver.crt and apiserver.key, which are made where missing',
  'tls-cert-file': 'certificate to serve with, instead of the one in --cert-dir',
  'tls-private-key-file': 'its key',
  'client-ca-file': 'CA of client certificates',
  'service-cluster-ip-range': 'range of cluster IPs (default 10.0.0.0/24)',
  'enable-bootstrap-token-auth': 'accept bootstrap tokens (default false)',
  'authorization-mode': 'AlwaysAllow: every authenticated user is authorized (default RBAC)',
  'disable-admission-plugins': 'admission plugins to leave out',
  'feature-gates': 'features on or off, those that Kubestage knows',
  'service-account-signing-key-file': 'key that signs the tokens of service accounts',
  'kubestage-controllers': 'run the controllers and the scheduler as well',
  'kubestage-node': 'run them, and a kubelet: pods are processes of this machine',
} as const

type Flag = keyof typeof kubeApiserverFlags

/** Flags that are accepted silently: what they ask for is the case anyway, or makes no difference to a client. */
const taken = new Set([
  'advertise-address',
  'allow-privileged',
  'etcd-prefix',
  'etcd-servers',
  'logtostderr',
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
  bootstrapTokens: boolean
  disabledAdmissionPlugins: string[]
  featureGates: FeatureGates
  controllers: boolean
  node: boolean
  /** Flags, and parts of their values, that have no effect here; each is logged as a warning. */
  ignored: { flag: string; value?: string }[]
}

/** Known values of `--authorization-mode`. RBAC decides if the flag names none of them. */
const authorizers = ['AlwaysAllow', 'Node', 'RBAC']

/** Values of `--enable-admission-plugins` that are always on. Kubestage has no other plugins of upstream. */
const admissionPlugins = new Set(
  `CertificateApproval CertificateSigning CertificateSubjectRestriction DefaultIngressClass DefaultStorageClass
    DefaultTolerationSeconds LimitRanger MutatingAdmissionPolicy MutatingAdmissionWebhook NamespaceLifecycle
    NodeRestriction PersistentVolumeClaimResize PodSecurity Priority ResourceQuota RuntimeClass ServiceAccount
    StorageObjectInUseProtection TaintNodesByCondition ValidatingAdmissionPolicy ValidatingAdmissionWebhook`.split(
    /\s+/,
  ),
)
const servedAnyway = /^(api\/all|api\/ga|v1|[^/=]+\/v1)(=true|=)?$/
/** Flags of which some values ask for what is so anyway; the others are named in the log. */
const readInPart: Record<string, (value: string) => boolean> = {
  'enable-admission-plugins': (plugin) => admissionPlugins.has(plugin),
  'runtime-config': (version) => servedAnyway.test(version),
}

/** Throws a ConfigError that names the flag. */
export function readKubeApiserverFlags(args: readonly string[]): KubeApiserverSettings {
  const flags = parseGoFlags(args)
  refuseUnknown(flags, [upstreamKubeApiserverFlags, new Set(Object.keys(kubeApiserverFlags))])
  const get = (name: Flag): string | undefined => flags.get(name) || undefined
  const read = <Value>(name: Flag, parse: (text: string) => Value, text: string): Value => {
    try {
      return parse(text)
    } catch (error) {
      throw new ConfigError(`--${name} ${(error as Error).message}`)
    }
  }
  const isOn = (name: Flag): boolean => read(name, flag.fromText, get(name) ?? 'false')
  const modes = list(get('authorization-mode'))
  const gates = list(get('feature-gates')).map((pair): [string, boolean] => {
    const [gate = '', value = ''] = pair.split('=')
    return [gate, read('feature-gates', flag.fromText, value)]
  })
  const node = isOn('kubestage-node')
  return {
    host: get('bind-address') ?? '127.0.0.1',
    port: read('secure-port', port.fromText, get('secure-port') ?? '6443'),
    certDir: get('cert-dir') ?? '.kubestage/envtest',
    certFile: get('tls-cert-file'),
    keyFile: get('tls-private-key-file'),
    clientCaFile: get('client-ca-file'),
    signingKeyFile: get('service-account-signing-key-file'),
    serviceCidr: read(
      'service-cluster-ip-range',
      cidr.fromText,
      list(get('service-cluster-ip-range'))[0] ?? '10.0.0.0/24',
    ),
    alwaysAllow: modes.includes('AlwaysAllow'),
    bootstrapTokens: isOn('enable-bootstrap-token-auth'),
    disabledAdmissionPlugins: list(get('disable-admission-plugins')),
    featureGates: { ...defaultFeatureGates, ...Object.fromEntries(gates.filter(isKnown)) },
    controllers: node || isOn('kubestage-controllers'),
    node,
    ignored: [
      ...[...flags.keys()]
        .filter((name) => !(name in kubeApiserverFlags || taken.has(name) || name in readInPart))
        .map((name) => ({ flag: name })),
      ...Object.entries(readInPart).flatMap(([flag, isSo]) =>
        list(flags.get(flag))
          .filter((value) => !isSo(value))
          .map((value) => ({ flag, value })),
      ),
      ...modes.filter((mode) => !authorizers.includes(mode)).map((value) => ({ flag: 'authorization-mode', value })),
      ...gates.filter((gate) => !isKnown(gate)).map(([value]) => ({ flag: 'feature-gates', value })),
    ],
  }
}

const isKnown = ([gate]: [string, boolean]): boolean => Object.hasOwn(defaultFeatureGates, gate)

const list = (value = ''): string[] => value.split(',').filter(Boolean)
