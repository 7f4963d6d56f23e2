import type { Container, Pod } from '../../shared/api/types.ts'
import type { Mount } from '../runtime/container-runtime.ts'
import { contents, mountsItself, podFileMount } from './pod-file.ts'

const RESOLVER = '/etc/resolv.conf'
/** Resolvers read this many entries. Upstream: validation.MaxDNSNameservers. */
const MAX_NAMESERVERS = 3

/**
 * The pod's `/etc/resolv.conf` as a mount, where its `dnsPolicy` or `dnsConfig` asks for one: else the machine's
 * counts, as no cluster DNS runs.
 */
export function resolverMount(
  pod: Pod,
  container: Container,
  { rootDir, isNeeded = false }: { rootDir: string; isNeeded?: boolean },
): Mount | undefined {
  const { dnsPolicy, dnsConfig } = pod.spec
  const isOwn = isNeeded || dnsPolicy === 'None' || dnsConfig !== undefined
  if (!isOwn || mountsItself(container, RESOLVER)) return undefined
  const text = resolverFile(pod, contents(RESOLVER))
  return podFileMount(pod, { containerPath: RESOLVER, name: 'resolv.conf', text, rootDir })
}

/**
 * `dnsConfig` on top of what the machine's file says, or with the policy `None` of nothing. Upstream:
 * pkg/kubelet/network/dns.
 */
export function resolverFile({ spec: { dnsPolicy, dnsConfig = {} } }: Pod, machine: string): string {
  const base = dnsPolicy === 'None' ? '' : machine
  const lines = base.split('\n').map((line) => line.trim().split(/\s+/))
  const said = (keyword: string) => lines.filter(([first]) => first === keyword).map(([, ...words]) => words)
  const servers = new Set([...said('nameserver').flat(), ...(dnsConfig.nameservers ?? [])])
  const searches = new Set([...(said('search').at(-1) ?? []), ...(dnsConfig.searches ?? [])])
  const options = new Map([
    ...said('options')
      .flat()
      .map((option) => [option.split(':')[0] ?? '', option] as const),
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
