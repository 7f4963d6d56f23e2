import type { Container } from '../../../shared/api/types.ts'
import { baseline, type Check, hasOwnUsers, procMount, seccompProfile } from './baseline.ts'
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

const isWindows = ({ os }: PodSpec): boolean => os?.name === 'windows'

const allowPrivilegeEscalation: Check = ({ spec }) => {
  const names = namesOf(spec, (context) => context?.allowPrivilegeEscalation !== false)
  if (names.length === 0 || isWindows(spec)) return undefined
  const detail = `${containersText(names)} must set securityContext.allowPrivilegeEscalation=false`
  return { reason: 'allowPrivilegeEscalation != false', detail }
}

const capabilities: Check = ({ spec }) => {
  if (isWindows(spec)) return undefined
  const keeping = namesOf(spec, (context) => !context?.capabilities?.drop?.includes('ALL'))
  const added = ({ securityContext }: Container): string[] =>
    (securityContext?.capabilities?.add ?? []).filter((name) => name !== 'NET_BIND_SERVICE')
  const adding = containersOf(spec).filter((container) => added(container).length > 0)
  const details = [
    ...(keeping.length > 0 ? [`${containersText(keeping)} must set securityContext.capabilities.drop=["ALL"]`] : []),
    ...(adding.length > 0
      ? [
          `${containersText(adding.map(({ name }) => name))} must not include ${quoted(sortedSet(adding.flatMap(added)))} in securityContext.capabilities.add`,
        ]
      : []),
  ]
  return details.length > 0 ? { reason: 'unrestricted capabilities', detail: details.join('; ') } : undefined
}

const volumeTypes = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
]

const restrictedVolumes: Check = ({ spec }) => {
  const typeOf = (volume: object): string => Object.keys(volume).find((field) => field !== 'name') ?? 'unknown'
  const bad = (spec.volumes ?? []).filter((volume) => !volumeTypes.includes(typeOf(volume)))
  if (bad.length === 0) return undefined
  const types = sortedSet(bad.map(typeOf))
  const names = `${plural('volume', bad.length)} ${quoted(bad.map(({ name }) => name))} ${bad.length === 1 ? 'uses' : 'use'}`
  return {
    reason: 'restricted volume types',
    detail: `${names} ${plural('restricted volume type', types.length)} ${quoted(types)}`,
  }
}

const runAsNonRoot: Check = ({ spec }) => {
  if (hasOwnUsers(spec)) return undefined
  const ofPod = spec.securityContext?.runAsNonRoot
  const setters = settersText(
    ofPod === false,
    namesOf(spec, (context) => context?.runAsNonRoot === false),
  )
  const reason = 'runAsNonRoot != true'
  if (setters) return { reason, detail: `${setters} must not set securityContext.runAsNonRoot=false` }
  const silent = ofPod ? [] : namesOf(spec, (context) => context?.runAsNonRoot === undefined)
  if (silent.length === 0) return undefined
  return { reason, detail: `pod or ${containersText(silent)} must set securityContext.runAsNonRoot=true` }
}

const runAsUser: Check = ({ spec }) => {
  if (hasOwnUsers(spec)) return undefined
  const setters = settersText(
    spec.securityContext?.runAsUser === 0,
    namesOf(spec, (context) => context?.runAsUser === 0),
  )
  return setters ? { reason: 'runAsUser=0', detail: `${setters} must not set runAsUser=0` } : undefined
}

const ownSeccompProfile: Check = (pod) => {
  const { spec } = pod
  if (isWindows(spec)) return undefined
  const wrong = seccompProfile(pod)
  if (wrong || spec.securityContext?.seccompProfile) return wrong
  const silent = namesOf(spec, (context) => context?.seccompProfile === undefined)
  if (silent.length === 0) return undefined
  const detail = `pod or ${containersText(silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`
  return { reason: 'seccompProfile', detail }
}

const { capabilities: _, hostPathVolumes: __, procMount: ___, seccompProfile: ____, ...kept } = baseline

/**
 * Holds the checks of the restricted profile: first those of the baseline without a stricter version here, then the
 * profile's own. Upstream: pod-security-admission/policy.
 */
export const restricted: readonly Check[] = [
  ...Object.values(kept),
  allowPrivilegeEscalation,
  capabilities,
  procMount,
  restrictedVolumes,
  runAsNonRoot,
  runAsUser,
  ownSeccompProfile,
]
