/** The subresource `resize`: which resources of a pod may change. Upstream: ValidatePodResize. */
import type { Container, Pod, PodSpec } from '../../../../shared/api/types.ts'
import { forbidden, invalid } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { deepEqual } from '../../../values/deep-equal.ts'
import { keepMetadata } from '../../parts/pod-spec/prepare.ts'
import { qosClass } from './qos.ts'
import { validateWhole } from './validate-update.ts'

type Resources = NonNullable<Container['resources']>
type Amounts = Resources['limits']
const lists = ['initContainers', 'containers'] as const
const amounts = ['requests', 'limits'] as const

/** Takes resources and resize policies of the containers, and the pod's own resources. */
export function takeResources(pod: Pod, old: Pod): void {
  const hasOthers = lists.some((list) => pod.spec[list]?.length !== old.spec[list]?.length)
  // The rules refuse containers that were added or removed.
  if (hasOthers) return
  keepMetadata(pod, old)
  pod.status = old.status
  const { spec } = pod
  pod.spec = { ...old.spec, resources: spec.resources, containers: withResources(spec.containers, old.spec.containers) }
  if (spec.initContainers) pod.spec.initContainers = withResources(spec.initContainers, old.spec.initContainers ?? [])
}

function withResources(asked: Container[], old: Container[]): Container[] {
  if (asked.some(({ name }, index) => name !== old[index]?.name)) return asked
  return asked.map(({ resources, resizePolicy }, index) => ({ ...old[index]!, resources, resizePolicy }))
}

export function validateResize(pod: Pod, old: Pod, errors: FieldErrors): void {
  validateWhole(pod, errors)
  const fixed = fixedPod(old)
  if (fixed) {
    errors.splice(0, errors.length, forbidden('', `${fixed} pods cannot be resized`))
    return
  }
  const before = old.status?.qosClass ?? qosClass(old.spec)
  if (before !== qosClass(pod.spec))
    errors.push(invalid('spec', old.status?.qosClass ?? '', 'Pod QOS Class may not change as a result of resizing'))
  const running = old.status?.containerStatuses?.find(({ state }) => state?.running)
  if (running && !running.resources) errors.push(forbidden('spec', 'Pod running on node without support for resize'))
  const masked = { ...pod.spec }
  if (isSet(pod.spec.resources) || isSet(old.spec.resources)) validatePodLevel(masked, old.spec, errors)
  if (!validateOrder(pod.spec, old.spec, errors)) return
  for (const list of lists) validateRemovals(pod.spec[list] ?? [], old.spec[list] ?? [], `spec.${list}`, errors)
  maskContainers(masked, old.spec, errors)
  maskInitContainers(masked, old.spec, errors)
  if (errors.length === 0 && !sameSpec(masked, old.spec)) errors.push(forbidden('spec', onlyThese))
}

function fixedPod({ metadata, spec }: Pod): string | undefined {
  if (metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined) return 'static'
  return spec.os?.name === 'windows' ? 'windows' : undefined
}

const onlyThese = 'only cpu and memory resources are mutable'

const isSet = (resources: Resources | undefined): boolean =>
  amounts.some((name) => Object.keys(resources?.[name] ?? {}).length > 0)

function validatePodLevel(masked: PodSpec, old: PodSpec, errors: FieldErrors): void {
  const { resources } = masked
  if (old.resources && !resources) {
    errors.push(forbidden('spec.resources', 'pod-level resources cannot be removed'))
    return
  }
  for (const name of amounts) {
    if (!lacks(resources?.[name], old.resources?.[name])) continue
    const detail = `pod-level resource ${name} cannot be removed`
    errors.push(forbidden(`spec.resources.${name}`, detail))
  }
  masked.resources = resources && { ...resources, ...withOldAmounts(resources, old.resources) }
  if (!old.resources && !isSet(masked.resources) && !masked.resources?.claims?.length) masked.resources = undefined
  if (!sameResources(masked.resources, old.resources)) errors.push(forbidden('spec', `${onlyThese} at pod-level`))
}

function validateOrder(spec: PodSpec, old: PodSpec, errors: FieldErrors): boolean {
  const count = errors.length
  for (const list of ['containers', 'initContainers'] as const) {
    const [now, before] = [spec[list] ?? [], old[list] ?? []]
    if (now.length !== before.length) {
      errors.push(forbidden(`spec.${list}`, `${list} may not be added or removed on resize`))
      continue
    }
    for (const [index, { name }] of before.entries()) {
      if (now[index]?.name === name) continue
      errors.push(forbidden(`spec.${list}[${index}].name`, `${list} may not be renamed or reordered on resize`))
    }
  }
  return errors.length === count
}

function validateRemovals(containers: Container[], old: Container[], path: string, errors: FieldErrors): void {
  for (const [index, { resources }] of containers.entries()) {
    for (const name of amounts) {
      if (!lacks(resources?.[name], old[index]?.resources?.[name])) continue
      errors.push(forbidden(`${path}[${index}].resources.${name}`, `resource ${name} cannot be removed`))
    }
  }
}

const lacks = (amounts: Amounts, old: Amounts): boolean =>
  Object.keys(old ?? {}).some((name) => amounts?.[name] === undefined)

function maskContainers(masked: PodSpec, old: PodSpec, errors: FieldErrors): void {
  masked.containers = masked.containers.map((container, index) => {
    const before = old.containers[index]!
    const rest = withOldResources(container, before)
    if (!sameContainer(rest, before)) errors.push(forbidden('spec', onlyThese))
    return rest
  })
}

function maskInitContainers(masked: PodSpec, old: PodSpec, errors: FieldErrors): void {
  masked.initContainers = masked.initContainers?.map((container, index) => {
    const path = `spec.initContainers[${index}]`
    const before = old.initContainers![index]!
    const rest = withOldResources(container, before)
    if (!sameContainer(rest, before)) {
      errors.push(forbidden(path, 'only cpu and memory resources for init or sidecar containers are mutable'))
    }
    const restarts = container.resizePolicy?.filter(({ restartPolicy }) => restartPolicy === 'RestartContainer') ?? []
    if (container.restartPolicy === 'Always' || sameContainer(container, before)) return rest
    const detail = 'non-sidecar init containers with a resize policy of RestartContainer cannot be resized'
    for (const _ of restarts) errors.push(forbidden(path, detail))
    return rest
  })
}

/** The container with its old cpu and memory: what still differs may not change. */
const withOldResources = (container: Container, old: Container): Container => ({
  ...container,
  resources: withOldAmounts(container.resources, old.resources),
})

function withOldAmounts(resources: Resources | undefined, old: Resources | undefined): Resources {
  const masked: Resources = {}
  for (const name of amounts) {
    const { cpu: _cpu, memory: _memory, ...others } = resources?.[name] ?? {}
    const { cpu, memory } = old?.[name] ?? {}
    masked[name] = { ...others, ...(cpu !== undefined && { cpu }), ...(memory !== undefined && { memory }) }
  }
  return masked
}

const withLists = (resources: Resources | undefined): Resources => ({
  ...resources,
  requests: resources?.requests ?? {},
  limits: resources?.limits ?? {},
})
const sameResources = (a: Resources | undefined, b: Resources | undefined): boolean =>
  a === undefined || b === undefined ? a === b : deepEqual(withLists(a), withLists(b))
const comparable = (container: Container): object => ({
  ...container,
  resources: withLists(container.resources),
  resizePolicy: container.resizePolicy ?? [],
})
const sameContainer = (a: Container, b: Container): boolean => deepEqual(comparable(a), comparable(b))
const comparableSpec = (spec: PodSpec): object => ({
  ...spec,
  resources: spec.resources && withLists(spec.resources),
  containers: spec.containers.map(comparable),
  initContainers: spec.initContainers?.map(comparable) ?? [],
})
const sameSpec = (a: PodSpec, b: PodSpec): boolean => deepEqual(comparableSpec(a), comparableSpec(b))
