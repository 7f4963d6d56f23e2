/** Defaults of a pod's spec; those of containers and volumes hold in templates of workloads too. */
import { roundUpAmounts } from '../../../../shared/api/quantities/quantity.ts'
import { containerResources } from '../../../../shared/api/quantities/resource-list.ts'
import type { Container, HTTPGetAction, PodSpec, Probe } from '../../../../shared/api/types.ts'
import { isHugePage } from '../container-resource-names.ts'
import { defaultVolumeSource } from '../volume-defaults.ts'

export function defaultPodSpec(spec: PodSpec): void {
  spec.restartPolicy ||= 'Always'
  spec.terminationGracePeriodSeconds ??= 30
  spec.dnsPolicy ||= 'ClusterFirst'
  spec.schedulerName ||= 'default-scheduler'
  spec.securityContext ??= {}
  // The old name of the field follows the new one, and counts where the new one is empty.
  const account = spec.serviceAccountName || spec.serviceAccount
  if (account) Object.assign(spec, { serviceAccountName: account, serviceAccount: account })
  for (const container of allContainers(spec)) defaultContainer(container)
  for (const volume of spec.volumes ?? []) defaultVolume(volume)
}

/** Sets the defaults that apply to pods only, not to the templates of workloads. */
export function defaultPodOnly(spec: PodSpec): void {
  spec.enableServiceLinks ??= true
  for (const { resources } of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    if (!resources?.limits) continue
    const requests = { ...resources.limits, ...resources.requests }
    if (Object.keys(requests).length > 0) resources.requests = requests
  }
  if (spec.resources) defaultPodResources(spec, spec.resources)
  if (!spec.hostNetwork) return
  for (const container of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    for (const port of container.ports ?? []) port.hostPort ||= port.containerPort
  }
}

export const allContainers = (spec: PodSpec): Container[] => [
  ...(spec.initContainers ?? []),
  ...(spec.containers ?? []),
  ...((spec.ephemeralContainers ?? []) as unknown as Container[]),
]

/** A pod's own resources that it leaves open: what its containers have together, else the requests are its limits. */
function defaultPodResources(spec: PodSpec, resources: NonNullable<PodSpec['resources']>): void {
  const requests: Record<string, string> = { ...resources.requests }
  const limits: Record<string, string> = { ...resources.limits }
  if (Object.keys({ ...limits, ...requests }).length === 0) return
  for (const [name, limit] of Object.entries(containerResources(spec, 'limits'))) {
    if (isHugePage(name) && requests[name] === undefined) limits[name] ??= limit
  }
  if (Object.keys(limits).length === 0) return
  for (const [name, request] of Object.entries(containerResources(spec, 'requests'))) {
    if (measured.has(name)) requests[name] ??= request
  }
  for (const [name, limit] of Object.entries(limits)) {
    if (measured.has(name) || isHugePage(name)) requests[name] ??= limit
  }
  Object.assign(resources, { limits, requests })
}
const measured = new Set(['cpu', 'memory'])

/** Nothing finer than thousandths is handed out. */
function roundUp(resources: Container['resources']): void {
  roundUpAmounts(resources?.limits)
  roundUpAmounts(resources?.requests)
}

function defaultContainer(container: Container): void {
  roundUp(container.resources)
  container.imagePullPolicy ||= pullPolicy(container.image ?? '')
  container.terminationMessagePath ||= '/dev/termination-log'
  container.terminationMessagePolicy ||= 'File'
  for (const port of container.ports ?? []) port.protocol ||= 'TCP'
  for (const { valueFrom } of container.env ?? []) {
    if (valueFrom?.fieldRef) valueFrom.fieldRef.apiVersion ||= 'v1'
    if (valueFrom?.fileKeyRef) valueFrom.fileKeyRef.optional ??= false
  }
  for (const probe of [container.livenessProbe, container.readinessProbe, container.startupProbe]) {
    if (probe) defaultProbe(probe)
  }
  for (const handler of [container.lifecycle?.postStart, container.lifecycle?.preStop]) {
    if (handler?.httpGet) defaultHttpGet(handler.httpGet)
  }
}

function defaultProbe(probe: Probe): void {
  probe.timeoutSeconds ||= 1
  probe.periodSeconds ||= 10
  probe.successThreshold ||= 1
  probe.failureThreshold ||= 3
  if (probe.httpGet) defaultHttpGet(probe.httpGet)
  if (probe.grpc) probe.grpc.service ??= ''
}

function defaultHttpGet(action: HTTPGetAction): void {
  action.path ||= '/'
  action.scheme ||= 'HTTP'
}

const component = '[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*'
const label = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])'
const domain = `(?:${label}(?:\\.${label})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`
/** Matches an image's name. Upstream: github.com/distribution/reference. */
const reference = new RegExp(
  `^(?:${domain}/)?${component}(?:/${component})*(?::[\\w][\\w.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$`,
)

const maxNameLength = 255
const longestReference = 1024
/** A digest alone is no name. */
const identifier = /^[0-9a-f]{64}$/
const isReference = (image: string): boolean =>
  image.length <= longestReference &&
  reference.test(image) &&
  !identifier.test(image) &&
  (image.length <= maxNameLength || image.split('@')[0]!.replace(/:[^/]*$/, '').length <= maxNameLength)

/** `latest` or no tag at all: look each time. */
export function pullPolicy(image: string): string {
  // Upstream cannot parse it, and finds no tag.
  if (!isReference(image)) return 'IfNotPresent'
  const [name = '', digest] = image.split('@')
  const tag = /:([^/:]+)$/.exec(name)?.[1] ?? (digest === undefined ? 'latest' : undefined)
  return tag === 'latest' ? 'Always' : 'IfNotPresent'
}

type Volume = NonNullable<PodSpec['volumes']>[number]
/** 0644. */
const DEFAULT_MODE = 420

function defaultVolume(volume: Volume): void {
  if (Object.keys(volume).every((member) => member === 'name')) volume.emptyDir = {}
  for (const source of [volume.secret, volume.configMap, volume.downwardAPI, volume.projected]) {
    if (source) source.defaultMode ??= DEFAULT_MODE
  }
  for (const item of volume.downwardAPI?.items ?? []) if (item.fieldRef) item.fieldRef.apiVersion ||= 'v1'
  for (const source of volume.projected?.sources ?? []) {
    if (source.serviceAccountToken) source.serviceAccountToken.expirationSeconds ??= 3600
    for (const item of source.downwardAPI?.items ?? []) if (item.fieldRef) item.fieldRef.apiVersion ||= 'v1'
  }
  if (volume.image) volume.image.pullPolicy ||= pullPolicy(volume.image.reference ?? '')
  const template = volume.ephemeral?.volumeClaimTemplate?.spec
  if (template) template.volumeMode ??= 'Filesystem'
  defaultVolumeSource(volume)
}
