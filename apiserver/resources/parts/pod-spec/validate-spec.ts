/** A pod's spec, wherever it is embedded, in the order in which upstream names mistakes. */
import type { ObjectMeta, PodSpec } from '../../../../shared/api/types.ts'
import { duplicate, forbidden, invalid, required, tooLong } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import {
  dns1123Label,
  dns1123Subdomain,
  dns1123SubdomainWithUnderscore,
  qualifiedName,
} from '../../../validation/names.ts'
import { validateLabels } from '../../../validation/object-meta.ts'
import { between, MAX_INT32, reject, validateAddress, validateChoice, validateRequiredChoice } from '../messages.ts'
import { validateTolerations } from '../tolerations.ts'
import {
  type PodContext,
  validateContainers,
  validateEphemeralContainers,
  validateImageOfPod,
  validateInitContainers,
  validateResourceClaims,
} from './validate-containers.ts'
import { validatePodLevelResources, validateResources } from './validate-resources.ts'
import { validateAffinity, validateTopologySpread } from './validate-scheduling.ts'
import { validateOs, validatePodSecurityContext } from './validate-security-context.ts'
import { validateVolumes } from './validate-volumes.ts'
import { validateHostProcess } from './validate-windows.ts'

const restartPolicies = ['Always', 'OnFailure', 'Never']
const dnsPolicies = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']
const preemptionPolicies = ['PreemptLowerPriority', 'Never']
const MAX_HOSTNAME_OVERRIDE = 64

export interface SpecOptions {
  /** Holds the metadata of the pod; absent for a template. */
  meta?: ObjectMeta
  path: string
}

export function validatePodSpec(spec: PodSpec, { meta, path }: SpecOptions, errors: FieldErrors): void {
  const field = (name: string) => `${path}.${name}`
  const context: PodContext = {
    spec,
    volumes: validateVolumes(spec.volumes ?? [], meta, field('volumes'), errors),
    claims: new Set((spec.resourceClaims ?? []).map(({ name }) => name)),
    isPod: meta !== undefined,
  }
  validateResourceClaims(spec, field('resourceClaims'), errors)
  validateContainers(context, field('containers'), errors)
  validateInitContainers(context, field('initContainers'), errors)
  validateEphemeralContainers(context, field('ephemeralContainers'), errors)
  validatePodLevelResources(spec, context.claims, field('resources'), errors)
  validateHostPortsMatch(context, path, errors)
  validateRequiredChoice(spec.restartPolicy, restartPolicies, field('restartPolicy'), errors)
  validateRequiredChoice(spec.dnsPolicy, dnsPolicies, field('dnsPolicy'), errors)
  validateLabels(spec.nodeSelector, field('nodeSelector'), errors)
  validatePodSecurityContext(spec, path, errors)
  validateAffinity(spec.affinity, field('affinity'), errors)
  validateDns(spec, field('dnsConfig'), errors)
  validateGates(spec, path, errors)
  validateTopologySpread(spec.topologySpreadConstraints ?? [], field('topologySpreadConstraints'), errors)
  validateHostUsers(spec, path, errors)
  validateNames(spec, path, errors)
  if (spec.overhead) validateResources({ limits: spec.overhead }, new Set(), field('overhead'), errors)
  validateHostProcess(spec, path, errors)
  validateOs(spec, path, errors)
  validateHostname(spec, path, errors)
}

/** Validates the fields whose rules apply to pods only, not to templates. */
export function validatePodOnly(spec: PodSpec, path: string, errors: FieldErrors): void {
  if (!spec.serviceAccountName) {
    for (const [index, { projected }] of (spec.volumes ?? []).entries()) {
      for (const [source, { serviceAccountToken }] of (projected?.sources ?? []).entries()) {
        if (!serviceAccountToken) continue
        const field = `${path}.volumes[${index}].projected.sources[${source}].serviceAccountToken`
        errors.push(forbidden(field, 'must not be specified when serviceAccountName is not set'))
      }
    }
  }
  for (const list of ['containers', 'initContainers'] as const) {
    for (const [index, container] of (spec[list] ?? []).entries()) {
      validateImageOfPod(container, `${path}.${list}[${index}]`, errors)
    }
  }
}

function validateHostPortsMatch({ spec, isPod }: PodContext, path: string, errors: FieldErrors): void {
  if (!spec.hostNetwork) return
  for (const [index, { ports = [] }] of (spec.containers ?? []).entries()) {
    for (const [portIndex, { hostPort = 0, containerPort }] of ports.entries()) {
      if ((isPod || hostPort !== 0) && hostPort !== containerPort) {
        const at = `${path}.containers[${index}].ports[${portIndex}].hostPort`
        errors.push(invalid(at, hostPort, 'must match `containerPort` when `hostNetwork` is true'))
      }
    }
  }
}

const MAX_NAMESERVERS = 3
const MAX_SEARCHES = 32
const MAX_SEARCH_CHARACTERS = 2048

function validateDns({ dnsPolicy, dnsConfig }: PodSpec, path: string, errors: FieldErrors): void {
  if (dnsPolicy === 'None') {
    if (!dnsConfig) {
      errors.push(required(path, 'must provide `dnsConfig` when `dnsPolicy` is None'))
      return
    }
    if (!dnsConfig.nameservers?.length) {
      errors.push(required(`${path}.nameservers`, 'must provide at least one DNS nameserver when `dnsPolicy` is None'))
      return
    }
  }
  const { nameservers = [], searches = [], options = [] } = dnsConfig ?? {}
  if (nameservers.length > MAX_NAMESERVERS) {
    errors.push(invalid(`${path}.nameservers`, nameservers, `must not have more than ${MAX_NAMESERVERS} nameservers`))
  }
  for (const [index, server] of nameservers.entries()) validateAddress(server, `${path}.nameservers[${index}]`, errors)
  if (searches.length > MAX_SEARCHES) {
    errors.push(invalid(`${path}.searches`, searches, `must not have more than ${MAX_SEARCHES} search paths`))
  }
  if (searches.join(' ').length > MAX_SEARCH_CHARACTERS) {
    const detail = `must not have more than ${MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list`
    errors.push(invalid(`${path}.searches`, searches, detail))
  }
  for (const [index, search] of searches.entries()) {
    if (search === '.') continue
    const name = search.replace(/\.$/, '')
    reject(errors, `${path}.searches[${index}]`, name, dns1123SubdomainWithUnderscore(name))
  }
  for (const [index, { name }] of options.entries()) {
    if (!name) errors.push(required(`${path}.options[${index}]`, 'must not be empty'))
  }
}

function validateGates(
  { readinessGates = [], schedulingGates = [] }: PodSpec,
  path: string,
  errors: FieldErrors,
): void {
  for (const [index, { conditionType }] of readinessGates.entries()) {
    reject(errors, `${path}.readinessGates[${index}].conditionType`, conditionType, qualifiedName(conditionType))
  }
  const seen = new Set<string>()
  for (const [index, { name }] of schedulingGates.entries()) {
    const at = `${path}.schedulingGates[${index}]`
    reject(errors, at, name, qualifiedName(name))
    if (seen.has(name)) errors.push(duplicate(at, name))
    seen.add(name)
  }
}

/** Own user namespace and the host's other namespaces do not go together. */
function validateHostUsers(spec: PodSpec, path: string, errors: FieldErrors): void {
  if (spec.hostUsers !== false) return
  const detail = 'when `hostUsers` is false'
  if (spec.hostNetwork) errors.push(forbidden(`${path}.hostNetwork`, detail))
  if (spec.hostPID) errors.push(forbidden(`${path}.HostPID`, detail))
  if (spec.hostIPC) errors.push(forbidden(`${path}.HostIPC`, detail))
}

function validateNames(spec: PodSpec, path: string, errors: FieldErrors): void {
  const field = (name: string) => `${path}.${name}`
  for (const name of ['serviceAccountName', 'nodeName'] as const) {
    if (spec[name]) reject(errors, field(name), spec[name], dns1123Subdomain(spec[name]))
  }
  const deadline = spec.activeDeadlineSeconds
  if (deadline !== undefined && (deadline < 1 || deadline > MAX_INT32)) {
    errors.push(invalid(field('activeDeadlineSeconds'), deadline, between(1, MAX_INT32)))
  }
  for (const name of ['hostname', 'subdomain'] as const) {
    if (spec[name]) reject(errors, field(name), spec[name], dns1123Label(spec[name]))
  }
  validateTolerations(spec.tolerations ?? [], field('tolerations'), errors)
  for (const [index, { ip, hostnames = [] }] of (spec.hostAliases ?? []).entries()) {
    const at = `${path}.hostAliases[${index}]`
    validateAddress(ip ?? '', `${at}.ip`, errors)
    for (const [hostIndex, hostname] of hostnames.entries()) {
      reject(errors, `${at}.hostnames[${hostIndex}]`, hostname, dns1123Subdomain(hostname))
    }
  }
  for (const name of ['priorityClassName', 'runtimeClassName'] as const) {
    const value = spec[name]
    if (value || (value !== undefined && name === 'runtimeClassName')) {
      reject(errors, field(name), value, dns1123Subdomain(value))
    }
  }
  const { preemptionPolicy } = spec
  if (preemptionPolicy === '') errors.push(required(field('preemptionPolicy')))
  else validateChoice(preemptionPolicy, preemptionPolicies, field('preemptionPolicy'), errors)
}

function validateHostname(spec: PodSpec, path: string, errors: FieldErrors): void {
  const { hostnameOverride } = spec
  if (hostnameOverride === undefined) return
  const field = `${path}.hostnameOverride`
  if (hostnameOverride.length > MAX_HOSTNAME_OVERRIDE) errors.push(tooLong(field, MAX_HOSTNAME_OVERRIDE))
  reject(errors, field, hostnameOverride, dns1123Subdomain(hostnameOverride))
  if (spec.hostNetwork) errors.push(forbidden(field, 'may not be specified when hostNetwork is true'))
  if (spec.setHostnameAsFQDN) errors.push(forbidden(field, 'may not be specified when setHostnameAsFQDN is true'))
}
