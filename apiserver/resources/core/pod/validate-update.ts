/** Validates what changes in a pod. */

import { mayRestartAllContainers, restartRuleFor } from '../../../../shared/api/pods/restart-rules.ts'
import type { Container, Pod, PodSpec } from '../../../../shared/api/types.ts'
import { duplicate, forbidden, invalid, required } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { dump } from '../../../validation/go-dump.ts'
import { isIPv6 } from '../../../validation/ip.ts'
import { dns1123Subdomain, qualifiedName } from '../../../validation/names.ts'
import { diffValues } from '../../../validation/unified-diff.ts'
import { deepEqual } from '../../../values/deep-equal.ts'
import { between, MAX_INT32, reject, validateAddress } from '../../parts/messages.ts'
import { validateAnnotationUpdates, validatePodAnnotations } from '../../parts/pod-spec/validate-annotations.ts'
import { validatePodOnly, validatePodSpec } from '../../parts/pod-spec/validate-spec.ts'
import { validateTolerations } from '../../parts/tolerations.ts'

const POD_SPEC = 'io.k8s.api.core.v1.PodSpec'
const MUTABLE = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
]

export const podNameRule = (name: string): string[] => dns1123Subdomain(name)

/** Frozen specs that are right whatever the pod is called. */
const right = new WeakSet<PodSpec>()

/** Validates the whole pod, by the rules of creation. */
export function validateWhole({ metadata, spec }: Pod, errors: FieldErrors): void {
  validatePodAnnotations(metadata, spec, 'metadata.annotations', errors)
  if (right.has(spec)) return
  const before = errors.length
  validatePodSpec(spec, { meta: metadata, path: 'spec' }, errors)
  validatePodOnly(spec, 'spec', errors)
  // The claim of an ephemeral volume has the pod's name in its own.
  if (errors.length > before || spec.volumes?.some(({ ephemeral }) => ephemeral)) return
  if (Object.isFrozen(spec)) right.add(spec)
}

export function validateUpdate(pod: Pod, old: Pod, errors: FieldErrors): void {
  validateWhole(pod, errors)
  validateAnnotationUpdates(pod.metadata, old.metadata, 'metadata.annotations', errors)
  if (pod.spec === old.spec && right.has(pod.spec)) return
  for (const list of ['containers', 'initContainers'] as const) {
    if (!validateImages(pod.spec[list] ?? [], old.spec[list] ?? [], `spec.${list}`, errors)) return
  }
  if (!validateDeadline(pod.spec.activeDeadlineSeconds, old.spec.activeDeadlineSeconds, errors)) return
  validateAddedTolerations(pod.spec, old.spec, errors)
  validateRemovedGates(pod.spec, old.spec, errors)
  if (deepEqual(pod.spec, old.spec)) return
  const rest = withMutableFieldsOf(pod.spec, old.spec)
  if ((old.spec.schedulingGates ?? []).length > 0) allowNarrowing(rest, old.spec, errors)
  if (deepEqual(rest, old.spec)) return
  const diff = diffValues(dump(POD_SPEC, old.spec), dump(POD_SPEC, rest))
  errors.push(forbidden('spec', `pod updates may not change fields other than ${MUTABLE.join(',')}\n${diff}`))
}

/** Returns false if nothing further can be compared. */
function validateImages(containers: Container[], old: Container[], path: string, errors: FieldErrors): boolean {
  if (containers.length !== old.length) {
    errors.push(forbidden(path, 'pod updates may not add or remove containers'))
    return false
  }
  for (const [index, { image = '' }] of containers.entries()) {
    const field = `${path}[${index}].image`
    if (image === '') errors.push(required(field))
    if (image !== image.trim()) errors.push(invalid(field, image, 'must not have leading or trailing whitespace'))
  }
  return true
}

function validateDeadline(seconds: number | undefined, old: number | undefined, errors: FieldErrors): boolean {
  const field = 'spec.activeDeadlineSeconds'
  if (seconds === undefined) {
    if (old !== undefined) errors.push(invalid(field, null, 'must not update from a positive integer to nil value'))
    return true
  }
  if (seconds < 0 || seconds > MAX_INT32) errors.push(invalid(field, seconds, between(0, MAX_INT32)))
  else if (old !== undefined && old < seconds) {
    errors.push(invalid(field, seconds, 'must be less than or equal to previous value'))
  } else return true
  return false
}

/** Returns a toleration without its duration. */
const tolerated = ({ key, operator, value, effect }: NonNullable<PodSpec['tolerations']>[number]): string =>
  JSON.stringify([key, operator, value, effect])

function validateAddedTolerations({ tolerations = [] }: PodSpec, old: PodSpec, errors: FieldErrors): void {
  const kept = new Set(tolerations.map(tolerated))
  for (const toleration of old.tolerations ?? []) {
    if (kept.has(tolerated(toleration))) continue
    errors.push(forbidden('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds'))
    return
  }
  validateTolerations(tolerations, 'spec.tolerations', errors)
}

function validateRemovedGates({ schedulingGates = [] }: PodSpec, old: PodSpec, errors: FieldErrors): void {
  const before = new Set(old.schedulingGates?.map(({ name }) => name))
  for (const [index, { name }] of schedulingGates.entries()) {
    if (before.has(name)) continue
    errors.push(
      forbidden(
        `spec.schedulingGates[${index}].name`,
        `only deletion is allowed, but found new scheduling gate '${name}'`,
      ),
    )
  }
}

/** The new spec with the old values where change is allowed: what still differs is not. */
function withMutableFieldsOf(spec: PodSpec, old: PodSpec): PodSpec {
  const withImages = (list: Container[] | undefined, before: Container[] | undefined) =>
    list?.map((container, index) => ({ ...container, image: before?.[index]?.image }))
  const rest: PodSpec = {
    ...spec,
    containers: withImages(spec.containers, old.containers) ?? [],
    activeDeadlineSeconds: old.activeDeadlineSeconds,
    schedulingGates: old.schedulingGates,
    tolerations: old.tolerations,
  }
  if (spec.initContainers) rest.initContainers = withImages(spec.initContainers, old.initContainers)
  if ((old.terminationGracePeriodSeconds ?? 0) < 0 && spec.terminationGracePeriodSeconds === 1) {
    rest.terminationGracePeriodSeconds = old.terminationGracePeriodSeconds
  }
  return rest
}

/** A pod behind gates may still be told more precisely where to run. */
function allowNarrowing(rest: PodSpec, old: PodSpec, errors: FieldErrors): void {
  if (!deepEqual(rest.nodeSelector, old.nodeSelector)) {
    const kept = Object.entries(old.nodeSelector ?? {}).every(([key, value]) => rest.nodeSelector?.[key] === value)
    if (!kept) {
      const detail = 'only additions to spec.nodeSelector are allowed (no mutations or deletions)'
      errors.push(invalid('spec.nodeSelector', rest.nodeSelector ?? null, detail))
    }
    rest.nodeSelector = old.nodeSelector
  }
  const [affinity, before] = [rest.affinity?.nodeAffinity, old.affinity?.nodeAffinity]
  if (deepEqual(affinity, before)) return
  validateNodeAffinityMutation(affinity, before, errors)
  const others = { ...rest.affinity, nodeAffinity: before }
  const isEmpty = Object.values(others).every((value) => value === undefined)
  rest.affinity = isEmpty && old.affinity === undefined ? undefined : others
}

type NodeAffinity = NonNullable<NonNullable<PodSpec['affinity']>['nodeAffinity']>

function validateNodeAffinityMutation(
  affinity: NodeAffinity | undefined,
  old: NodeAffinity | undefined,
  errors: FieldErrors,
): void {
  const oldTerms = old?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms
  if (!oldTerms) return
  const path = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms'
  const terms = affinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  if (oldTerms.length > 0 && terms.length !== oldTerms.length) {
    errors.push(invalid(path, terms, 'no additions/deletions to non-empty NodeSelectorTerms list are allowed'))
    return
  }
  for (const [index, term] of oldTerms.entries()) {
    const now = terms[index]
    const keeps = (list: 'matchExpressions' | 'matchFields') =>
      (term[list] ?? []).every((requirement, at) => deepEqual(requirement, now?.[list]?.[at]))
    const wasEmpty = !term.matchExpressions?.length && !term.matchFields?.length
    if ((wasEmpty && !deepEqual(term, now)) || !keeps('matchExpressions') || !keeps('matchFields')) {
      errors.push(invalid(`${path}[${index}]`, now ?? null, 'only additions are allowed (no mutations or deletions)'))
    }
  }
}

const CORE = 'io.k8s.api.core.v1'
const systemConditions = new Set(['PodScheduled', 'Ready', 'Initialized'])

export function validateStatusUpdate(pod: Pod, old: Pod, errors: FieldErrors): void {
  validateAnnotationUpdates(pod.metadata, old.metadata, 'metadata.annotations', errors)
  const status = pod.status ?? {}
  for (const [index, { type, observedGeneration }] of (status.conditions ?? []).entries()) {
    validateGeneration(observedGeneration, `status.conditions[${index}].observedGeneration`, errors)
    if (!systemConditions.has(type)) reject(errors, `status.conditions[${index}].Type`, type, qualifiedName(type))
  }
  const nominated = status.nominatedNodeName
  if (nominated && nominated !== old.status?.nominatedNodeName) {
    reject(errors, 'status.nominatedNodeName', nominated, dns1123Subdomain(nominated))
    if (old.spec.nodeName)
      errors.push(forbidden('status.nominatedNodeName', 'may not be set on pods that are already bound to a node'))
  }
  validateGeneration(status.observedGeneration, 'status.observedGeneration', errors)
  if (status.qosClass !== old.status?.qosClass) {
    errors.push(invalid('status.qosClass', status.qosClass ?? '', 'field is immutable'))
  }
  for (const list of ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const) {
    validateTransitions(pod, old, list, errors)
  }
  validateClaimStatuses(pod, errors)
  validateAddresses(status.podIPs, 'status.podIPs', `${CORE}.PodIP`, errors)
  const hostIPs = status.hostIPs ?? []
  if (hostIPs.length > 0 && hostIPs[0]?.ip !== status.hostIP) {
    errors.push(invalid('status.hostIPs[0].ip', hostIPs[0]?.ip, 'must be equal to `hostIP`'))
  }
  validateAddresses(status.hostIPs, 'status.hostIPs', `${CORE}.HostIP`, errors)
}

function validateGeneration(generation: number | undefined, path: string, errors: FieldErrors): void {
  if (generation !== undefined && generation < 0)
    errors.push(invalid(path, generation, 'must be a non-negative integer'))
}

function validateClaimStatuses({ spec, status }: Pod, errors: FieldErrors): void {
  const statuses = status?.resourceClaimStatuses ?? []
  if (statuses.length === 0) return
  const claims = new Set(spec.resourceClaims?.map(({ name }) => name))
  const seen = new Set<string>()
  for (const [index, { name, resourceClaimName }] of statuses.entries()) {
    const path = `status.resourceClaimStatuses[${index}]`
    if (!claims.has(name))
      errors.push(invalid(`${path}.name`, name, 'must match the name of an entry in `spec.resourceClaims`'))
    if (seen.has(name)) errors.push(duplicate(`${path}.name`, name))
    seen.add(name)
    if (resourceClaimName !== undefined)
      reject(errors, `${path}.resourceClaimName`, resourceClaimName, dns1123Subdomain(resourceClaimName))
  }
}

type StatusList = 'containerStatuses' | 'initContainerStatuses' | 'ephemeralContainerStatuses'

/** Where nothing restarts, what has ended stays ended. */
function validateTransitions(pod: Pod, old: Pod, list: StatusList, errors: FieldErrors): void {
  const policy = list === 'ephemeralContainerStatuses' ? 'Never' : (old.spec.restartPolicy ?? 'Always')
  if (policy === 'Always' || (list !== 'ephemeralContainerStatuses' && mayRestartAllContainers(old.spec))) return
  const containers = byName([...(old.spec.containers ?? []), ...(old.spec.initContainers ?? [])])
  const statuses = byName(pod.status?.[list])
  const mayRestart = (name: string, exitCode: number): boolean => {
    const container = containers.get(name)
    if (!container) return false
    const own = container.restartPolicy
    return (own !== undefined && own !== 'Never') || restartRuleFor(container, exitCode) !== undefined
  }
  for (const [index, before] of (old.status?.[list] ?? []).entries()) {
    const ended = before.state?.terminated
    if (!ended || (ended.exitCode !== 0 && policy === 'OnFailure') || mayRestart(before.name, ended.exitCode)) continue
    const now = statuses.get(before.name)
    if (now && !now.state?.terminated) {
      errors.push(forbidden(`status.${list}[${index}].state`, 'may not be transitioned to non-terminated state'))
    }
  }
}

function validateAddresses(
  list: { ip?: string }[] | undefined,
  path: string,
  schema: string,
  errors: FieldErrors,
): void {
  const addresses = (list ?? []).map(({ ip = '' }) => ip)
  for (const [index, ip] of addresses.entries()) validateAddress(ip, `${path}[${index}]`, errors)
  if (addresses.length < 2) return
  const families = new Set(addresses.map(isIPv6))
  if (families.size < 2 || addresses.length > 2) {
    const shown = (list ?? []).map((entry) => dump(schema, entry))
    errors.push(invalid(path, shown, 'may specify no more than one IP for each IP family'))
  }
}

export function validateEphemeralUpdate(pod: Pod, old: Pod, errors: FieldErrors): void {
  validateWhole(pod, errors)
  validateAnnotationUpdates(pod.metadata, old.metadata, 'metadata.annotations', errors)
  const field = 'spec.ephemeralContainers'
  const containers = byName(pod.spec.ephemeralContainers)
  for (const before of old.spec.ephemeralContainers ?? []) {
    const now = containers.get(before.name)
    const quoted = JSON.stringify(before.name)
    if (!now) errors.push(forbidden(field, `existing ephemeral containers ${quoted} may not be removed\n`))
    else if (!deepEqual(now, before)) {
      const [a, b] = [before, now].map((container) => dump(`${CORE}.EphemeralContainer`, container))
      errors.push(forbidden(field, `existing ephemeral containers ${quoted} may not be changed\n${diffValues(a, b)}`))
    }
  }
}

/** Items by name; of several with one name the first. A patch may have made a list null. */
const byName = <T extends { name: string }>(items: readonly T[] | null | undefined): Map<string, T> =>
  new Map((items ?? []).toReversed().map((item) => [item.name, item]))
