/** Warns of what is accepted although it looks wrong, in texts for Warning headers. */
import type { Container, ObjectMeta, Pod, PodSpec } from '../../../../shared/api/types.ts'
import { reasonIsIgnored } from '../../../../shared/reasons/annotated-reason.ts'
import { addressWarnings } from '../../../validation/ip.ts'
import { dns1123Label } from '../../../validation/names.ts'
import { deepEqual } from '../../../values/deep-equal.ts'
import { fractionWarnings } from '../fraction-warnings.ts'
import { nodeLabelWarning, nodeLabelWarnings, nodeTermWarnings } from '../node-labels.ts'
import { allContainers } from './defaults.ts'
import { deliveryWarnings } from './delivery-warnings.ts'
import { graceWarnings } from './grace-warnings.ts'
import { appArmorProfileOf } from './prepare.ts'
import { APP_ARMOR_PREFIX, hasPrefix, SECCOMP_POD, SECCOMP_PREFIX } from './validate-annotations.ts'
import { overlapWarnings } from './volume-overlaps.ts'

const deprecatedAnnotations = Object.entries({
  'scheduler.alpha.kubernetes.io/critical-pod': 'non-functional in v1.16+; use the "priorityClassName" field instead',
  'security.alpha.kubernetes.io/sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
  'security.alpha.kubernetes.io/unsafe-sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
})
const deprecatedVolumes: Record<string, string> = {
  photonPersistentDisk: 'deprecated in v1.11, non-functional in v1.16+',
  gitRepo: 'deprecated in v1.11, and disabled by default in v1.33+',
  scaleIO: 'deprecated in v1.16, non-functional in v1.22+',
  flocker: 'deprecated in v1.22, non-functional in v1.25+',
  storageos: 'deprecated in v1.22, non-functional in v1.25+',
  quobyte: 'deprecated in v1.22, non-functional in v1.25+',
  glusterfs: 'deprecated in v1.25, non-functional in v1.26+',
  cephfs: 'deprecated in v1.28, non-functional in v1.31+',
  rbd: 'deprecated in v1.28, non-functional in v1.31+',
}
const NO_SELECTOR = 'a null labelSelector results in matching no pod'

export function podWarnings(meta: ObjectMeta, spec: PodSpec): string[] {
  const label = dns1123Label(meta.name ?? '')
  const warnings = specWarnings(meta, spec, '')
  if (label.length > 0 && meta.name) {
    warnings.unshift(
      `metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [${label.join(' ')}]`,
    )
  }
  return warnings
}

/** Frozen specs of which there is nothing to say. */
const unremarkable = new WeakSet<PodSpec>()

/** `prefix` is the path of the template with its dot, or nothing for a pod. */
export function specWarnings(meta: ObjectMeta, spec: PodSpec, prefix: string): string[] {
  const ofAnnotations = annotationWarnings(meta, spec, `${prefix}metadata.annotations`)
  if (prefix && meta.reason !== undefined) ofAnnotations.push(`${prefix}metadata.reason: ${reasonIsIgnored}`)
  if (unremarkable.has(spec)) return ofAnnotations
  const path = `${prefix}spec`
  const containers = containersWithPath(spec, path)
  const ofPlacement = placementWarnings(spec, path)
  const others = [...volumeWarnings(spec, path), ...duplicates(spec, path)]
  for (const [container, at] of containers)
    others.push(
      ...containerWarnings(container, at),
      ...graceWarnings(container, spec, at, path),
      ...deliveryWarnings(container, at),
    )
  others.push(...portWarnings(containers), ...graceWarning(spec, path), ...addressesWarnings(spec, path))
  if (ofPlacement.length + others.length === 0 && Object.isFrozen(spec)) unremarkable.add(spec)
  return [...ofPlacement, ...ofAnnotations, ...others]
}

function addressesWarnings({ dnsConfig, hostAliases = [] }: PodSpec, path: string): string[] {
  const servers = dnsConfig?.nameservers ?? []
  return [
    ...servers.flatMap((server, index) => addressWarnings(server, `${path}.dnsConfig.nameservers[${index}]`)),
    ...hostAliases.flatMap(({ ip = '' }, index) => addressWarnings(ip, `${path}.hostAliases[${index}].ip`)),
  ]
}

export const statusWarnings = ({ status }: Pod): string[] =>
  (['podIPs', 'hostIPs'] as const).flatMap((list) =>
    (status?.[list] ?? []).flatMap(({ ip = '' }, index) => addressWarnings(ip, `status.${list}[${index}].ip`)),
  )

const containerLists = ['initContainers', 'containers', 'ephemeralContainers'] as const

function containersWithPath(spec: PodSpec, path: string): [Container, string][] {
  const found: [Container, string][] = []
  for (const list of containerLists) {
    const containers = spec[list] as Container[] | undefined
    if (!containers) continue
    for (let index = 0; index < containers.length; index++)
      found.push([containers[index]!, `${path}.${list}[${index}]`])
  }
  return found
}

function placementWarnings(spec: PodSpec, path: string): string[] {
  const warnings = nodeLabelWarnings(Object.keys(spec.nodeSelector ?? {}), (key) => `${path}.nodeSelector[${key}]`)
  const node = spec.affinity?.nodeAffinity
  const nodePath = `${path}.affinity.nodeAffinity`
  const required = node?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  const preferred = node?.preferredDuringSchedulingIgnoredDuringExecution ?? []
  const terms = [
    ...required.map((term, index): [typeof term, string] => [
      term,
      `${nodePath}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[${index}]`,
    ]),
    ...preferred.map(({ preference }, index): [typeof preference, string] => [
      preference,
      `${nodePath}.preferredDuringSchedulingIgnoredDuringExecution[${index}].preference`,
    ]),
  ]
  for (const [term, at] of terms) warnings.push(...nodeTermWarnings(term, at))
  for (const [index, { topologyKey, labelSelector }] of (spec.topologySpreadConstraints ?? []).entries()) {
    const at = `${path}.topologySpreadConstraints[${index}]`
    const message = nodeLabelWarning(topologyKey)
    if (message) warnings.push(`${at}.topologyKey: ${topologyKey} is ${message}`)
    if (!labelSelector) warnings.push(`${at}.labelSelector: ${NO_SELECTOR}`)
  }
  for (const name of ['podAffinity', 'podAntiAffinity'] as const) {
    const rules = spec.affinity?.[name]
    for (const [index, term] of (rules?.requiredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
      const at = `${path}.affinity.${name}.requiredDuringSchedulingIgnoredDuringExecution[${index}]`
      if (!term.labelSelector) warnings.push(`${at}.labelSelector: ${NO_SELECTOR}`)
    }
    for (const [index, term] of (rules?.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
      const at = `${path}.affinity.${name}.preferredDuringSchedulingIgnoredDuringExecution[${index}]`
      if (!term.podAffinityTerm.labelSelector) warnings.push(`${at}.podAffinityTerm.labelSelector: ${NO_SELECTOR}`)
    }
  }
  return warnings
}

function annotationWarnings({ annotations }: ObjectMeta, spec: PodSpec, path: string): string[] {
  if (!annotations) return []
  const warnings: string[] = []
  for (const [key, message] of deprecatedAnnotations) {
    if (annotations[key] !== undefined) warnings.push(`${path}[${key}]: ${message}`)
  }
  const seccomp = 'non-functional in v1.27+; use the "seccompProfile" field instead'
  const appArmor = 'deprecated since v1.30; use the "appArmorProfile" field instead'
  if (!spec.securityContext?.seccompProfile && annotations[SECCOMP_POD] !== undefined) {
    warnings.push(`${path}[${SECCOMP_POD}]: ${seccomp}`)
  }
  const aboutContainers = hasPrefix(annotations, SECCOMP_PREFIX) || hasPrefix(annotations, APP_ARMOR_PREFIX)
  for (const { name, securityContext } of aboutContainers ? allContainers(spec) : []) {
    if (!securityContext?.seccompProfile && annotations[SECCOMP_PREFIX + name] !== undefined) {
      warnings.push(`${path}[${SECCOMP_PREFIX}${name}]: ${seccomp}`)
    }
    const profile = annotations[APP_ARMOR_PREFIX + name]
    // The field may come from the annotation.
    const field = spec.securityContext?.appArmorProfile ?? securityContext?.appArmorProfile
    if (profile !== undefined && (!field || deepEqual(field, appArmorProfileOf(profile)))) {
      warnings.push(`${path}[${APP_ARMOR_PREFIX}${name}]: ${appArmor}`)
    }
  }
  return warnings
}

function volumeWarnings(spec: PodSpec, path: string): string[] {
  const warnings: string[] = []
  for (const [index, volume] of (spec.volumes ?? []).entries()) {
    for (const [source, message] of Object.entries(deprecatedVolumes)) {
      if ((volume as unknown as Record<string, unknown>)[source] !== undefined) {
        warnings.push(`${path}.volumes[${index}].${source === 'storageos' ? 'storageOS' : source}: ${message}`)
      }
    }
  }
  return [...warnings, ...overlapWarnings(spec.volumes ?? [])]
}

function duplicates(spec: PodSpec, path: string): string[] {
  const warnings: string[] = []
  const addresses = new Set<string>()
  for (const [index, { ip = '' }] of (spec.hostAliases ?? []).entries()) {
    if (addresses.has(ip)) warnings.push(`${path}.hostAliases[${index}].ip: duplicate ip ${JSON.stringify(ip)}`)
    addresses.add(ip)
  }
  const secrets = new Set<string>()
  const nameless: string[] = []
  for (const [index, { name = '' }] of (spec.imagePullSecrets ?? []).entries()) {
    const at = `${path}.imagePullSecrets[${index}].name`
    if (secrets.has(name)) warnings.push(`${at}: duplicate name ${JSON.stringify(name)}`)
    secrets.add(name)
    if (name === '') nameless.push(`${at}: invalid empty name ""`)
  }
  return [...warnings, ...nameless, ...fractionWarnings(spec.overhead, bytes, `${path}.overhead`)]
}

const bytes = ['memory', 'ephemeral-storage']

function containerWarnings({ resources, env = [] }: Container, path: string): string[] {
  const warnings = [
    ...fractionWarnings(resources?.limits, bytes, `${path}.resources.limits`),
    ...fractionWarnings(resources?.requests, bytes, `${path}.resources.requests`),
  ]
  const names = new Set<string>()
  for (let index = 0; index < env.length; index++) {
    const variable = env[index]!
    if (names.has(variable.name) && hidesPrevious(variable)) {
      warnings.push(
        `${path}.env[${index}]: hides previous definition of ${JSON.stringify(variable.name)}, which may be dropped when using apply`,
      )
    }
    names.add(variable.name)
  }
  return warnings
}

/** A value that builds on the one before hides nothing. */
function hidesPrevious({ name, value = '', valueFrom }: NonNullable<Container['env']>[number]): boolean {
  const reference = `$(${name})`
  return valueFrom !== undefined || value === reference || !value.includes(reference)
}

type Port = NonNullable<Container['ports']>[number]

/** Bounds the pairs of ports, of which there may be billions; no answer has room for more. */
const mostShown = 200

/** A port as Go prints its struct. */
const printed = ({ name = '', hostPort = 0, containerPort, protocol, hostIP = '' }: Port): string =>
  `{Name:${name} HostPort:${hostPort} ContainerPort:${containerPort} Protocol:${protocol} HostIP:${hostIP}}`

function portWarnings(containers: [Container, string][]): string[] {
  const warnings: string[] = []
  const seen = new Map<string, { port: Port; at: string }[]>()
  const named = new Map<string, string>()
  for (const [{ ports = [] }, container] of containers) {
    for (const [index, port] of ports.entries()) {
      const at = `${container}.ports[${index}]`
      if (port.hostIP && !port.hostPort) warnings.push(`${at}: hostIP set without hostPort: ${printed(port)}`)
      const place = `${port.containerPort}/${port.protocol}`
      const others = seen.get(place) ?? []
      for (const other of warnings.length < mostShown ? others : []) {
        const sameHost = other.port.hostIP === port.hostIP && other.port.hostPort === port.hostPort
        if (sameHost) warnings.push(`${at}: duplicate port definition with ${other.at}`)
        else if (!port.hostPort || !other.port.hostPort) {
          warnings.push(`${at}: overlapping port definition with ${other.at}`)
        } else if (port.hostPort === other.port.hostPort && !port.hostIP !== !other.port.hostIP) {
          warnings.push(`${at}: dangerously ambiguous port definition with ${other.at}`)
        }
      }
      others.push({ port, at })
      seen.set(place, others)
    }
  }
  for (const [{ ports = [] }, container] of containers) {
    for (const [index, { name }] of ports.entries()) {
      if (!name) continue
      const at = `${container}.ports[${index}]`
      const first = named.get(name)
      if (first !== undefined) {
        warnings.push(
          `${at}: duplicate port name ${JSON.stringify(name)} with ${first}, services and probes that select ports by name will use ${first}`,
        )
      } else named.set(name, at)
    }
  }
  return warnings
}

const graceWarning = ({ terminationGracePeriodSeconds: seconds }: PodSpec, path: string): string[] =>
  seconds !== undefined && seconds < 0
    ? [`${path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`]
    : []
