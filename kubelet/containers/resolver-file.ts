import type { Container, Pod } from '../../shared/api/types.ts'
import { textOf } from '../../shared/files/readable.ts'
import { CLUSTER_DOMAIN } from '../pod/cluster-domain.ts'
import type { Mount } from '../runtime/container-runtime.ts'
import { mountsItself, podFileMount } from './pod-file.ts'

const RESOLVER = '/etc/resolv.conf'
/** Resolvers read this many entries. Upstream: validation.MaxDNSNameservers. */
const MAX_NAMESERVERS = 3

/**
 * The pod's `/etc/resolv.conf` as a mount, where it differs from the machine's: the cluster has a DNS server that the
 * pod's `dnsPolicy` wants, or the policy or `dnsConfig` asks for something else.
 */
export function resolverMount(
  pod: Pod,
  container: Container,
  { rootDir, isNeeded = false, dnsServer }: { rootDir: string; isNeeded?: boolean; dnsServer?: string },
): Mount | undefined {
  const { dnsPolicy, dnsConfig } = pod.spec
  const cluster = wantsCluster(pod) ? dnsServer : undefined
  const isOwn = isNeeded || cluster !== undefined || dnsPolicy === 'None' || dnsConfig !== undefined
  if (!isOwn || mountsItself(container, RESOLVER)) return undefined
  const text = resolverFile(pod, textOf(RESOLVER), cluster)
  return podFileMount(pod, { containerPath: RESOLVER, name: 'resolv.conf', text, rootDir })
}

/** A pod of the machine's network uses the machine's resolver unless it says otherwise. Upstream: getPodDNSType. */
const wantsCluster = ({ spec: { dnsPolicy = 'ClusterFirst', hostNetwork } }: Pod): boolean =>
  dnsPolicy === 'ClusterFirstWithHostNet' || (dnsPolicy === 'ClusterFirst' && !hostNetwork)

/**
 * `dnsConfig` on top of what the machine's file says, or with the policy `None` of nothing. With `cluster`, the address
 * of its DNS server, names are looked up in the cluster first. Upstream: pkg/kubelet/network/dns.
 */
export function resolverFile(
  { metadata, spec: { dnsPolicy, dnsConfig = {} } }: Pod,
  machine: string,
  cluster?: string,
): string {
  const own = dnsPolicy === 'None' && !cluster ? noWords : wordsOf(machine)
  const services = `svc.${CLUSTER_DOMAIN}`
  const base = cluster
    ? {
        servers: [cluster],
        searches: [`${metadata.namespace}.${services}`, services, CLUSTER_DOMAIN, ...own.searches],
        options: ['ndots:5'],
      }
    : own
  const servers = new Set([...base.servers, ...(dnsConfig.nameservers ?? [])])
  const searches = new Set([...base.searches, ...(dnsConfig.searches ?? [])])
  const options = new Map([
    ...base.options.map((option) => [option.split(':')[0] ?? '', option] as const),
    ...(dnsConfig.options ?? []).map(({ name = '', value }) => [name, value ? `${name}:${value}` : name] as const),
  ])
  return [
    ...(searches.size > 0 ? [['search', ...searches]] : []),
    ...[...servers].slice(0, MAX_NAMESERVERS).map((server) => ['nameserver', server]),
    ...(options.size > 0 ? [['options', ...options.values()]] : []),
  ]
    .map((words) => `${words.join(' ')}\n`)
    .join('')
}

interface Words {
  servers: string[]
  searches: string[]
  options: string[]
}

const noWords: Words = { servers: [], searches: [], options: [] }

/** Reads a resolver file. The last of several lines of search domains counts. */
function wordsOf(text: string): Words {
  const lines = text.split('\n').map((line) => line.trim().split(/\s+/))
  const said = (keyword: string) => lines.filter(([first]) => first === keyword).map(([, ...words]) => words)
  return { servers: said('nameserver').flat(), searches: said('search').at(-1) ?? [], options: said('options').flat() }
}
