/**
 * The keys of objects in etcd are those of a real kube-apiserver: `/registry/pods/default/web`, while the store's own
 * name the group as well: `/registry/core/pods/default/web`. Upstream:
 * pkg/kubeapiserver/default_storage_factory_builder.go.
 */

/** Groups whose resources have no group in their key. */
const builtIn: Readonly<Record<string, string>> = {
  core: 'configmaps endpoints events limitranges namespaces nodes persistentvolumeclaims persistentvolumes pods podtemplates ranges replicationcontrollers resourcequotas secrets serviceaccounts services',
  apps: 'controllerrevisions daemonsets deployments replicasets statefulsets',
  autoscaling: 'horizontalpodautoscalers',
  batch: 'cronjobs jobs',
  policy: 'poddisruptionbudgets',
  'admissionregistration.k8s.io':
    'mutatingadmissionpolicies mutatingadmissionpolicybindings mutatingwebhookconfigurations validatingadmissionpolicies validatingadmissionpolicybindings validatingwebhookconfigurations',
  'certificates.k8s.io': 'certificatesigningrequests',
  'coordination.k8s.io': 'leases',
  'discovery.k8s.io': 'endpointslices',
  'flowcontrol.apiserver.k8s.io': 'flowschemas prioritylevelconfigurations',
  'networking.k8s.io': 'ingressclasses ingresses ipaddresses networkpolicies servicecidrs',
  'node.k8s.io': 'runtimeclasses',
  'rbac.authorization.k8s.io': 'clusterrolebindings clusterroles rolebindings roles',
  'resource.k8s.io': 'deviceclasses resourceclaims resourceclaimtemplates resourceslices',
  'scheduling.k8s.io': 'priorityclasses',
  'storage.k8s.io': 'csidrivers csinodes csistoragecapacities storageclasses volumeattachments volumeattributesclasses',
}

/** Maps a resource to upstream's name in keys, where it is not the plural. */
const special: Readonly<Record<string, string>> = {
  endpoints: 'services/endpoints',
  ingresses: 'ingress',
  nodes: 'minions',
  replicationcontrollers: 'controllers',
  services: 'services/specs',
}

/** `core/pods` → `pods`, and back. Resources that are not listed, custom ones among them, keep their group. */
const toUpstream = new Map<string, string>()
const fromUpstream = new Map<string, string>()
for (const [group, plurals] of Object.entries(builtIn)) {
  for (const plural of plurals.split(' ')) {
    const theirs = special[plural] ?? plural
    toUpstream.set(`${group}/${plural}`, theirs)
    fromUpstream.set(theirs, `${group}/${plural}`)
  }
}

export const root = '/registry/'

/** `--etcd-prefix` as keys begin with it: a slash on both sides, as upstream adds them. */
export function rootOf(prefix: string): string {
  const words = prefix.split('/').filter(Boolean)
  return ['', ...words, ''].join('/')
}

/** `prefix`: what stands in etcd for `/registry`, with a slash at the end. */
export function upstreamKey(prefix: string, key: string): string {
  const path = key.slice(root.length)
  const resource = firstWords(path, 2)
  const theirs = toUpstream.get(resource)
  return prefix + (theirs === undefined ? path : theirs + path.slice(resource.length))
}

/** The store's key of one in etcd; undefined for what is no object: it is not below the prefix, or has no name. */
export function ownKey(prefix: string, key: string): string | undefined {
  if (!key.startsWith(prefix)) return undefined
  const path = key.slice(prefix.length)
  for (const words of [1, 2]) {
    const theirs = firstWords(path, words)
    const ours = fromUpstream.get(theirs)
    if (ours !== undefined && path.length > theirs.length + 1) return root + ours + path.slice(theirs.length)
  }
  return path.split('/').length >= 3 ? root + path : undefined
}

/** `a/b` of `a/b/c` for two. */
function firstWords(path: string, words: number): string {
  let end = -1
  for (let word = 0; word < words; word++) {
    end = path.indexOf('/', end + 1)
    if (end === -1) return path
  }
  return path.slice(0, end)
}
