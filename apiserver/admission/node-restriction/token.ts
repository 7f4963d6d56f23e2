import { claimNameOf } from '../../../shared/api/pods/pod-claims.ts'
import type { KubeObject, Pod } from '../../../shared/api/types.ts'
import type { PersistentVolume, PersistentVolumeClaim } from '../../../shared/api/volumes.ts'
import type { Lookup } from '../../kind/lookup.ts'
import type { NodeRule, NodeWrite } from './node-rule.ts'
import { podOrNotFound } from './pods.ts'

interface TokenSpec {
  audiences?: string[] | null
  boundObjectRef?: { apiVersion?: string; kind?: string; name?: string; uid?: string } | null
}
type Volume = NonNullable<Pod['spec']['volumes']>[number]

/** A node gets tokens for its own pods only, and only for audiences that their volumes name. */
export const token: NodeRule = (write) => {
  const { nodeName, namespace, lookup, object } = write
  const { boundObjectRef, audiences } = (object as KubeObject & { spec?: TokenSpec }).spec ?? {}
  const { apiVersion, kind, name, uid } = boundObjectRef ?? {}
  if (apiVersion !== 'v1' || kind !== 'Pod' || !name) return 'node requested token not bound to a pod'
  if (!uid) return 'node requested token with a pod binding without a uid'
  const pod = podOrNotFound(lookup, namespace, name)
  if (pod.metadata.uid !== uid)
    return `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`
  if (pod.spec.nodeName !== nodeName) return 'node requested token bound to a pod scheduled on a different node'
  const [audience = '', ...more] = audiences ?? []
  return more.length > 0 ? 'node may only request 0 or 1 audiences' : audienceRefusal(write, pod, audience)
}

function audienceRefusal(write: NodeWrite, pod: Pod, audience: string): ReturnType<NodeRule> {
  const missing = new Set<string>()
  for (const volume of pod.spec.volumes ?? []) {
    if (volume.projected?.sources?.some(({ serviceAccountToken: from }) => from && (from.audience ?? '') === audience))
      return undefined
    const driver = driverOf(write.lookup, pod, volume)
    const audiences = driver.name === undefined ? driver : audiencesOf(write.lookup, driver.name)
    if ('missing' in audiences) missing.add(audiences.missing)
    else if (audiences.names?.includes(audience)) return undefined
  }
  const errors = [...missing]
  if (errors.length > 0)
    return `error validating audience ${JSON.stringify(audience)}: ${errors.length > 1 ? `[${errors.join(', ')}]` : errors[0]}`
  return roleRefusal(write, audience)
}

/** Upstream's special verb: a role may allow further audiences. */
async function roleRefusal(write: NodeWrite, audience: string): Promise<string | undefined> {
  const { access, user, namespace, name } = write
  const verb = 'request-serviceaccounts-token-audience'
  const { verdict } = await access.decide({
    user,
    verb,
    path: '',
    resource: { group: '', resource: audience, namespace, name },
  })
  if (verdict === 'allow') return undefined
  return `audience ${JSON.stringify(audience)} not found in pod spec volume, ${user.name} is not authorized to request tokens for this audience`
}

interface Driver {
  name?: string
  names?: undefined
}
interface Missing {
  name?: undefined
  missing: string
}

/** Returns the driver of a CSI volume, its own or that of its claim. */
function driverOf(lookup: Lookup, pod: Pod, volume: Volume): Driver | Missing {
  if (volume.csi) return { name: volume.csi.driver }
  const claimName = claimNameOf(pod, volume)
  if (claimName === undefined) return {}
  const claim = lookup({ group: '', plural: 'persistentvolumeclaims' }, pod.metadata.namespace, claimName)
  if (!claim) return { missing: `persistentvolumeclaim ${JSON.stringify(claimName)} not found` }
  const { volumeName = '' } = (claim as unknown as PersistentVolumeClaim).spec ?? {}
  const bound = lookup({ group: '', plural: 'persistentvolumes' }, undefined, volumeName)
  if (!bound) return { missing: `persistentvolume ${JSON.stringify(volumeName)} not found` }
  return { name: (bound as unknown as PersistentVolume).spec?.csi?.driver }
}

function audiencesOf(lookup: Lookup, name: string): { names: string[] } | { missing: string } {
  const driver = lookup({ group: 'storage.k8s.io', plural: 'csidrivers' }, undefined, name)
  if (!driver) return { missing: `csidriver.storage.k8s.io ${JSON.stringify(name)} not found` }
  const { spec } = driver as KubeObject & { spec?: { tokenRequests?: { audience: string }[] } }
  return { names: (spec?.tokenRequests ?? []).map(({ audience }) => audience) }
}
