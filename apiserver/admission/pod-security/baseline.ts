import { safeSysctls } from '../../../shared/api/pods/safe-sysctls.ts'
import type { Container, Pod } from '../../../shared/api/types.ts'
import {
  containersOf,
  containersText,
  namesOf,
  type PodSpec,
  plural,
  quoted,
  settersText,
  sortedSet,
} from './pod-view.ts'

/** Returns why a pod violates the rule, in upstream's words; undefined if the pod meets the rule. */
export type Check = (pod: Pick<Pod, 'metadata' | 'spec'>) => { reason: string; detail: string } | undefined

const profileTypes = ['RuntimeDefault', 'Localhost']
const appArmorPrefix = 'container.apparmor.security.beta.kubernetes.io/'
const isAppArmorValue = (value: string): boolean =>
  value === '' || value === 'runtime/default' || value.startsWith('localhost/')

const appArmorProfile: Check = ({ metadata, spec }) => {
  const isBad = (type: string | undefined) => type !== undefined && !profileTypes.includes(type)
  const podType = spec.securityContext?.appArmorProfile?.type
  const names = namesOf(spec, (context) => isBad(context?.appArmorProfile?.type))
  const types = [podType, ...containersOf(spec).map(({ securityContext }) => securityContext?.appArmorProfile?.type)]
  const annotations = Object.entries(metadata.annotations ?? {})
    .filter(([key, value]) => key.startsWith(appArmorPrefix) && !isAppArmorValue(value))
    .map(([key, value]) => `${key}="${value}"`)
    .sort()
  const setters = [
    settersText(isBad(podType), names),
    annotations.length > 0 ? plural('annotation', annotations.length) : '',
  ]
  const shown = setters.filter(Boolean).join(' and ')
  if (!shown) return undefined
  const values = [...sortedSet(types.filter((type) => type !== undefined && isBad(type)) as string[]), ...annotations]
  const reason = plural('forbidden AppArmor profile', values.length)
  return { reason, detail: `${shown} must not set AppArmor profile type to ${quoted(values)}` }
}

const usualCapabilities = [
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
]

const capabilities: Check = ({ spec }) => {
  const unusual = ({ securityContext }: Container): string[] =>
    (securityContext?.capabilities?.add ?? []).filter((name) => !usualCapabilities.includes(name))
  const bad = containersOf(spec).filter((container) => unusual(container).length > 0)
  if (bad.length === 0) return undefined
  const names = bad.map(({ name }) => name)
  const added = quoted(sortedSet(bad.flatMap(unusual)))
  const detail = `${containersText(names)} must not include ${added} in securityContext.capabilities.add`
  return { reason: 'non-default capabilities', detail }
}

const hostNamespaces: Check = ({ spec }) => {
  const set = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((name) => spec[name])
  return set.length > 0
    ? { reason: 'host namespaces', detail: set.map((name) => `${name}=true`).join(', ') }
    : undefined
}

const hostPathVolumes: Check = ({ spec }) => {
  const names = (spec.volumes ?? []).filter(({ hostPath }) => hostPath).map(({ name }) => name)
  if (names.length === 0) return undefined
  return { reason: 'hostPath volumes', detail: `${plural('volume', names.length)} ${quoted(names)}` }
}

const uses = (count: number): string => (count === 1 ? 'uses' : 'use')

const hostPorts: Check = ({ spec }) => {
  const portsOf = ({ ports = [] }: Container) => ports.flatMap(({ hostPort }) => (hostPort ? [String(hostPort)] : []))
  const bad = containersOf(spec).filter((container) => portsOf(container).length > 0)
  if (bad.length === 0) return undefined
  const ports = sortedSet(bad.flatMap(portsOf))
  const detail = `${containersText(bad.map(({ name }) => name))} ${uses(bad.length)} ${plural('hostPort', ports.length)} ${ports.join(', ')}`
  return { reason: 'hostPort', detail }
}

/** A probe of another host lets the kubelet send requests there. */
const hostProbes: Check = ({ spec }) => {
  const hostsOf = ({ livenessProbe, readinessProbe, startupProbe, lifecycle }: Container): string[] =>
    [livenessProbe, readinessProbe, startupProbe, lifecycle?.postStart, lifecycle?.preStop].flatMap((action) =>
      [action?.httpGet?.host, action?.tcpSocket?.host].filter((host): host is string => Boolean(host)),
    )
  const bad = containersOf(spec).filter((container) => hostsOf(container).length > 0)
  if (bad.length === 0) return undefined
  const names = sortedSet(bad.map(({ name }) => name))
  const hosts = sortedSet(bad.flatMap(hostsOf))
  const what = 'probe or lifecycle host'
  return {
    reason: what,
    detail: `${containersText(names)} ${uses(names.length)} ${plural(what, hosts.length)} ${quoted(hosts)}`,
  }
}

const privileged: Check = ({ spec }) => {
  const names = namesOf(spec, (context) => context?.privileged === true)
  if (names.length === 0) return undefined
  return { reason: 'privileged', detail: `${containersText(names)} must not set securityContext.privileged=true` }
}

export const procMount: Check = ({ spec }) => {
  const isBad = (type: string | undefined) => type !== undefined && type !== 'Default'
  const names = namesOf(spec, (context) => isBad(context?.procMount))
  if (names.length === 0) return undefined
  const types = containersOf(spec).flatMap(({ securityContext }) => securityContext?.procMount ?? [])
  const detail = `${containersText(names)} must not set securityContext.procMount to ${quoted(sortedSet(types.filter(isBad)))}`
  return { reason: 'procMount', detail }
}

/** Returns whether the pod has a user namespace of its own; such a pod may see all of its own /proc. */
export const hasOwnUsers = ({ hostUsers }: PodSpec): boolean => hostUsers === false

type SELinuxOptions = NonNullable<NonNullable<Container['securityContext']>['seLinuxOptions']>
const seLinuxTypes = ['', 'container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t']

const seLinuxOptions: Check = ({ spec }) => {
  const isBad = (options: SELinuxOptions | undefined): boolean =>
    options !== undefined &&
    (!seLinuxTypes.includes(options.type ?? '') || Boolean(options.user) || Boolean(options.role))
  const ofPod = spec.securityContext?.seLinuxOptions
  const names = namesOf(spec, (context) => isBad(context?.seLinuxOptions))
  const setters = settersText(isBad(ofPod), names)
  if (!setters) return undefined
  const all = [ofPod, ...containersOf(spec).map(({ securityContext }) => securityContext?.seLinuxOptions)]
  const types = sortedSet(all.flatMap((options) => options?.type ?? []).filter((type) => !seLinuxTypes.includes(type)))
  const data = [
    ...(types.length > 0 ? [`${plural('type', types.length)} ${quoted(types)}`] : []),
    ...(all.some((options) => options?.user) ? ['user may not be set'] : []),
    ...(all.some((options) => options?.role) ? ['role may not be set'] : []),
  ]
  const detail = `${setters} set forbidden securityContext.seLinuxOptions: ${data.join('; ')}`
  return { reason: 'seLinuxOptions', detail }
}

const isBadSeccomp = (type: string | undefined): boolean => type !== undefined && !profileTypes.includes(type)

export const seccompProfile: Check = ({ spec }) => {
  const podType = spec.securityContext?.seccompProfile?.type
  const names = namesOf(spec, (context) => isBadSeccomp(context?.seccompProfile?.type))
  const setters = settersText(isBadSeccomp(podType), names)
  if (!setters) return undefined
  const types = [podType, ...containersOf(spec).map(({ securityContext }) => securityContext?.seccompProfile?.type)]
  const bad = sortedSet(types.filter((type): type is NonNullable<typeof type> => isBadSeccomp(type)))
  return {
    reason: 'seccompProfile',
    detail: `${setters} must not set securityContext.seccompProfile.type to ${quoted(bad)}`,
  }
}

const sysctls: Check = ({ spec }) => {
  const names = (spec.securityContext?.sysctls ?? []).map(({ name }) => name).filter((name) => !safeSysctls.has(name))
  return names.length > 0 ? { reason: 'forbidden sysctls', detail: names.join(', ') } : undefined
}

const windowsHostProcess: Check = ({ spec }) => {
  const names = namesOf(spec, (context) => context?.windowsOptions?.hostProcess === true)
  const setters = settersText(spec.securityContext?.windowsOptions?.hostProcess === true, names)
  if (!setters) return undefined
  return { reason: 'hostProcess', detail: `${setters} must not set securityContext.windowsOptions.hostProcess=true` }
}

/**
 * Holds the latest version of each check of the baseline profile, in upstream's order. Upstream:
 * pod-security-admission/policy.
 */
export const baseline = {
  appArmorProfile,
  capabilities,
  hostNamespaces,
  hostPathVolumes,
  hostPorts,
  hostProbes,
  privileged,
  procMount: ((pod) => (hasOwnUsers(pod.spec) ? undefined : procMount(pod))) as Check,
  seLinuxOptions,
  seccompProfile,
  sysctls,
  windowsHostProcess,
} satisfies Record<string, Check>
