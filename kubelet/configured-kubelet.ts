import path from 'node:path'
import { LINK_LABEL, NETWORK_LABEL, TUNNEL_LABEL } from '../shared/api/pods/network-labels.ts'
import type { KubeletConfig } from './config.ts'
import { backoffConfig } from './containers/backoff-options.ts'
import { evictionConfig } from './eviction/options.ts'
import { imageGarbagePolicy } from './images/garbage/options.ts'
import type { KubeletOptions } from './kubelet-options.ts'
import { shutdownGroups } from './node/shutdown-options.ts'
import type { RuntimeCapabilities } from './runtime/container-runtime.ts'
import { linkName } from './runtime/process/network/machine-link.ts'
import { runtimeDir } from './runtime/process/shim/shim.ts'

/** The options of a kubelet that its configuration and the capabilities of its runtime decide. Its `rootDir` is absolute. */
export function configuredKubelet(config: KubeletConfig, capabilities: RuntimeCapabilities, whyNoTunnel?: string) {
  const tunnel = config.podTunnel === 'none' ? undefined : { why: whyNoTunnel }
  return {
    nodeName: config.nodeName,
    nodeIP: config.nodeIp,
    podCidr: config.network === 'pod' && config.podCidr === 'auto' ? 'node' : config.podCidr,
    nodeLabels: { ...capabilityLabels(capabilities), ...networkLabels(config, tunnel), ...config.nodeLabels },
    ...(config.staticPodPath && { staticPodPath: path.resolve(config.staticPodPath) }),
    ...(tunnel && { tunnel }),
    endpointLagMs: config.endpointLag,
    maxPods: config.maxPods,
    rootDir: config.rootDir,
    featureGates: config.featureGates,
    eviction: evictionConfig(config),
    imageGarbage: imageGarbagePolicy(config),
    nodeStatusMaxImages: config.nodeStatusMaxImages,
    crashLoopBackOff: backoffConfig(config),
    shutdownGroups: shutdownGroups(config),
    shortenRunningKills: config.shortenRunningKills,
    allowedUnsafeSysctls: config.allowedUnsafeSysctls,
    strict: config.strict,
    ...(config.podPidsLimit > 0 && { podPidsLimit: config.podPidsLimit }),
  } satisfies Partial<KubeletOptions>
}

/** Returns labels that show, and select by, what containers have for themselves on this node. */
const capabilityLabels = ({ isolation, files, limits }: RuntimeCapabilities): Record<string, string> => ({
  'kubestage.dev/isolation': isolation,
  'kubestage.dev/files': files,
  'kubestage.dev/limits': limits?.join('-') ?? 'none',
})

/** Shows that pods have networks of their own, and what leads to them; without it they share the machine's. */
const networkLabels = (
  { network, rootDir, podTunnel }: KubeletConfig,
  tunnel: { why?: string } | undefined,
): Record<string, string> =>
  network === 'pod'
    ? {
        [NETWORK_LABEL]: 'pod',
        [LINK_LABEL]: linkName(runtimeDir(rootDir)),
        [TUNNEL_LABEL]: tunnel?.why === undefined ? podTunnel : 'none',
      }
    : {}
