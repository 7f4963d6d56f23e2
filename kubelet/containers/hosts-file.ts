import { hostname } from 'node:os'
import type { Container, Pod } from '../../shared/api/types.ts'
import { textOf } from '../../shared/files/readable.ts'
import { CLUSTER_DOMAIN } from '../pod/cluster-domain.ts'
import type { Mount } from '../runtime/container-runtime.ts'
import { mountsItself, podFileMount } from './pod-file.ts'

const HOSTS = '/etc/hosts'
const HOSTNAME = '/etc/hostname'

/** A host name has at most 63 characters and does not end in a dot or dash. */
export const hostnameOf = ({ metadata, spec }: Pod): string =>
  (spec.hostname ?? metadata.name ?? '').slice(0, 63).replace(/[-.]+$/, '')

/**
 * The pod's `/etc/hosts` as a mount, so that a program finds its own host name and its pod's `hostAliases`; written
 * again for each container. None for a container that mounts a file there itself, nor where the pod has no names of its
 * own (upstream: `makeMounts` in pkg/kubelet/kubelet_pods.go).
 */
export function hostsMount(
  pod: Pod,
  container: Container,
  {
    podIP,
    rootDir,
    ownNetwork,
    isNeeded = false,
  }: { podIP: string; rootDir: string; ownNetwork: boolean; isNeeded?: boolean },
): Mount | undefined {
  const { hostNetwork, hostAliases = [] } = pod.spec
  if (hostNetwork && hostAliases.length === 0 && !isNeeded) return undefined
  if (mountsItself(container, HOSTS)) return undefined
  const text = hostsFile(pod, podIP, ownNetwork && !hostNetwork ? undefined : textOf(HOSTS))
  return podFileMount(pod, { containerPath: HOSTS, name: 'etc-hosts', text, rootDir })
}

/** Mounts the pod's `/etc/hostname`; with the machine's network it has the machine's name. */
export function hostnameMount(pod: Pod, container: Container, rootDir: string): Mount | undefined {
  if (mountsItself(container, HOSTNAME)) return undefined
  const text = `${pod.spec.hostNetwork ? hostname() : hostnameOf(pod)}\n`
  return podFileMount(pod, { containerPath: HOSTNAME, name: 'hostname', text, rootDir })
}

/** Upstream writes these lines for a pod that has a network of its own. */
const USUAL = [
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'fe00::0\tip6-mcastprefix',
  'fe00::1\tip6-allnodes',
  'fe00::2\tip6-allrouters',
]

/** The pod's own names come first, then the machine's where its network is the pod's, too. */
export function hostsFile(pod: Pod, podIP: string, machine: string | undefined): string {
  const { hostNetwork, hostAliases = [] } = pod.spec
  return [
    `# Kubernetes-managed hosts file${hostNetwork ? ' (host network)' : ''}.`,
    ...(machine === undefined ? USUAL : []),
    ...(hostNetwork ? [] : [[podIP, ...ownNames(pod)].join('\t')]),
    ...(hostAliases.length > 0 ? ['', '# Entries added by HostAliases.'] : []),
    ...hostAliases.map(({ ip, hostnames = [] }) => [ip, ...hostnames].join('\t')),
    ...(machine === undefined ? [''] : ['', "# The machine's own.", machine]),
  ].join('\n')
}

function ownNames(pod: Pod): string[] {
  const { subdomain } = pod.spec
  const hostname = hostnameOf(pod)
  return subdomain ? [`${hostname}.${subdomain}.${pod.metadata.namespace}.svc.${CLUSTER_DOMAIN}`, hostname] : [hostname]
}
