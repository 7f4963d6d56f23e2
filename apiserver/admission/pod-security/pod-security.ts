import { forbidden } from '../../../shared/api/status/status-errors.ts'
import type { KubeObject, Pod, PodTemplateSpec } from '../../../shared/api/types.ts'
import type { Lookup, LookupAll } from '../../kind/lookup.ts'
import type { AdmissionAttributes, AdmissionPlugin, Annotate } from '../../registry/admission-plugin.ts'
import { invalid, invalidObject } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { baseline, type Check } from './baseline.ts'
import { containersOf } from './pod-view.ts'
import { restricted } from './restricted.ts'

type PodLike = Pick<Pod, 'metadata' | 'spec'>

const prefix = 'pod-security.kubernetes.io/'
const levels: Readonly<Record<string, readonly Check[]>> = {
  privileged: [],
  baseline: Object.values(baseline),
  restricted,
}
const namespaces = { group: '', plural: 'namespaces' }
const modes = ['enforce', 'audit', 'warn'] as const

interface Policy {
  level: string
  version: string
}

/**
 * Enforces the Pod Security Standard that the labels of a namespace require. Upstream:
 * pod-security-admission/admission.
 */
export function podSecurity(lookup: Lookup, lookupAll: LookupAll): AdmissionPlugin {
  const namespaceOf = ({ namespace }: AdmissionAttributes): KubeObject | undefined =>
    namespace === undefined ? undefined : lookup(namespaces, undefined, namespace)
  return {
    validate(attributes) {
      const { definition, operation, object } = attributes
      if (operation === 'DELETE' || !object) return
      if (definition.group === '' && definition.plural === 'namespaces') return checkNamespace(attributes, lookupAll)
      const pod = podOf(attributes)
      const namespace = pod && namespaceOf(attributes)
      if (!pod || !namespace) return
      const isPod = definition.plural === 'pods' && definition.group === ''
      if (isPod && !isPrivileged(namespace) && !isSignificant(pod, attributes.old as Pod | undefined)) return
      if (attributes.annotate) annotate(attributes.annotate, namespace, pod, isPod)
      if (isPod) {
        const { level, version } = policyOf(namespace, 'enforce')
        const violations = violationsOf(level, pod)
        if (violations)
          throw forbidden(
            definition,
            object.metadata.name ?? '',
            `violates PodSecurity "${level}:${version}": ${violations}`,
          )
      }
      const { level, version } = policyOf(namespace, 'warn')
      const violations = violationsOf(level, pod)
      if (violations) attributes.warn(`would violate PodSecurity "${level}:${version}": ${violations}`)
    },
  }
}

function annotate(annotate: Annotate, namespace: KubeObject, pod: PodLike, isPod: boolean): void {
  const [enforced, audited] = [policyOf(namespace, 'enforce'), policyOf(namespace, 'audit')]
  if (isPod) annotate(`${prefix}enforce-policy`, `${enforced.level}:${enforced.version}`)
  const violations = violationsOf(audited.level, pod)
  if (!violations) return
  const policy = `${audited.level}:${audited.version}`
  annotate(`${prefix}audit-violations`, `would violate PodSecurity "${policy}": ${violations}`)
}

function policyOf({ metadata: { labels = {} } }: KubeObject, mode: (typeof modes)[number]): Policy {
  return { level: labels[prefix + mode] ?? 'privileged', version: labels[`${prefix + mode}-version`] ?? 'latest' }
}

function violationsOf(level: string, pod: PodLike): string | undefined {
  const found = (levels[level] ?? []).flatMap((check) => check(pod) ?? [])
  return found.length > 0 ? found.map(({ reason, detail }) => `${reason} (${detail})`).join(', ') : undefined
}

type TemplateOf = (object: KubeObject) => PodTemplateSpec | undefined
const ofSpec: TemplateOf = ({ spec }) => (spec as { template?: PodTemplateSpec } | undefined)?.template

/** Maps a kind to the template of the pods that it makes. */
const templates: Readonly<Record<string, TemplateOf>> = {
  cronjobs: ({ spec }) => ofSpec((spec as { jobTemplate?: KubeObject }).jobTemplate ?? ({} as KubeObject)),
  daemonsets: ofSpec,
  deployments: ofSpec,
  jobs: ofSpec,
  podtemplates: ({ template }) => template as PodTemplateSpec | undefined,
  replicasets: ofSpec,
  replicationcontrollers: ofSpec,
  statefulsets: ofSpec,
}
const groups = ['', 'apps', 'batch']

/** Writes of pods that change no specification, or are no pods. */
const ignored = new Set(['attach', 'binding', 'eviction', 'exec', 'log', 'portforward', 'proxy', 'status'])

const isPrivileged = (namespace: KubeObject): boolean =>
  modes.every((mode) => policyOf(namespace, mode).level === 'privileged')

/** Returns whether a write makes a pod, adds a container to it, or changes an image. */
function isSignificant({ spec }: PodLike, old: PodLike | undefined): boolean {
  if (!old) return true
  const before = new Map(containersOf(old.spec).map(({ name, image }) => [name, image]))
  return containersOf(spec).some(({ name, image }) => !before.has(name) || before.get(name) !== image)
}

/** The pod that the request is about, or that its object would make. */
function podOf({ definition, subresource, object }: AdmissionAttributes): PodLike | undefined {
  const { group, plural } = definition
  if (group === '' && plural === 'pods') return ignored.has(subresource ?? '') ? undefined : (object as unknown as Pod)
  const template = !subresource && groups.includes(group) ? templates[plural]?.(object!) : undefined
  return template?.spec && { metadata: template.metadata ?? {}, spec: template.spec }
}

const versionPattern = /^(latest|v1\.(0|[1-9]\d*))$/

/** Refuses invalid labels. A stricter level warns of each pod that violates it. */
function checkNamespace(
  { definition, subresource, object, old, warn }: AdmissionAttributes,
  lookupAll: LookupAll,
): void {
  if (subresource || !object) return
  const { labels = {}, name = '' } = object.metadata
  const errors: FieldErrors = []
  for (const mode of modes) {
    const [levelKey, versionKey] = [prefix + mode, `${prefix + mode}-version`]
    const [level, version] = [labels[levelKey], labels[versionKey]]
    if (level !== undefined && !Object.hasOwn(levels, level))
      errors.push(invalid(`metadata.labels[${levelKey}]`, level, 'must be one of privileged, baseline, restricted'))
    if (version !== undefined && !versionPattern.test(version))
      errors.push(invalid(`metadata.labels[${versionKey}]`, version, 'must be "latest" or "v1.x"'))
  }
  const isChanged = modes.some((mode) => labels[prefix + mode] !== old?.metadata.labels?.[prefix + mode])
  if (errors.length > 0 && (!old || isChanged))
    throw invalidObject({ group: definition.group, kind: definition.kind }, name, errors)
  if (!old) return
  const [now, before] = [policyOf(object, 'enforce'), policyOf(old, 'enforce')]
  if (now.level === before.level || now.level === 'privileged') return
  warnOfExisting([...lookupAll({ group: '', plural: 'pods' }, name)] as unknown as Pod[], { name, policy: now, warn })
}

function warnOfExisting(
  pods: readonly Pod[],
  { name, policy: { level, version }, warn }: { name: string; policy: Policy; warn(text: string): void },
): void {
  const byReason = new Map<string, string[]>()
  for (const pod of pods) {
    const reasons = (levels[level] ?? []).flatMap((check) => check(pod)?.reason ?? []).join(', ')
    if (reasons) byReason.set(reasons, [...(byReason.get(reasons) ?? []), pod.metadata.name ?? ''])
  }
  if (byReason.size === 0) return
  warn(`existing pods in namespace "${name}" violate the new PodSecurity enforce level "${level}:${version}"`)
  const lines = [...byReason].map(([reasons, [first = '', ...others]]) => {
    const more =
      others.length === 0 ? '' : others.length === 1 ? ' (and 1 other pod)' : ` (and ${others.length} other pods)`
    return `${first}${more}: ${reasons}`
  })
  for (const line of lines.sort()) warn(line)
}
