import { forbidden } from '../../shared/api/status/status-errors.ts'
import type { Pod, PodSpec, ServiceAccount } from '../../shared/api/types.ts'
import { namesInPod } from '../auth/pod-references.ts'
import type { Lookup } from '../kind/lookup.ts'
import type { AdmissionPlugin } from '../registry/admission-plugin.ts'
import { generateName } from '../registry/writes/generate-name.ts'

const accounts = { group: '', plural: 'serviceaccounts' }
const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount'
const mirrorAnnotation = 'kubernetes.io/config.mirror'

/** Every pod runs under an account of its namespace, with a token to prove it. */
export function serviceAccount(lookup: Lookup, random: () => number): AdmissionPlugin {
  return {
    admit({ operation, definition, subresource, namespace, object }) {
      if (operation !== 'CREATE' || definition.group !== '' || definition.plural !== 'pods' || subresource) return
      const { metadata, spec } = object as unknown as Pod
      if (metadata.annotations?.[mirrorAnnotation] !== undefined) {
        const why = mirrorRefusal(object as unknown as Pod)
        if (why) throw forbidden(definition, metadata.name ?? '', why)
        return
      }
      spec.serviceAccountName ||= 'default'
      spec.serviceAccount = spec.serviceAccountName
      const account = lookup(accounts, namespace, spec.serviceAccountName) as unknown as ServiceAccount | undefined
      if (!account) {
        throw forbidden(
          definition,
          metadata.name ?? '',
          `error looking up service account ${namespace}/${spec.serviceAccountName}: serviceaccount ${JSON.stringify(spec.serviceAccountName)} not found`,
        )
      }
      if ((spec.imagePullSecrets ?? []).length === 0 && account.imagePullSecrets) {
        spec.imagePullSecrets = account.imagePullSecrets.map((secret) => ({ ...secret }))
      }
      if (spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true) mountToken(spec, random)
    },
  }
}

/** A mirror pod's containers run already, on the node alone: it cannot need anything of the API. */
function mirrorRefusal(pod: Pod): string | undefined {
  if (pod.spec.serviceAccountName) return 'a mirror pod may not reference service accounts'
  if (namesInPod(pod, 'secrets').length > 0) return 'a mirror pod may not reference secrets'
  const isToken = pod.spec.volumes?.some(({ projected }) =>
    projected?.sources?.some((from) => from.serviceAccountToken),
  )
  return isToken ? 'a mirror pod may not use ServiceAccountToken volume projections' : undefined
}

function mountToken(spec: PodSpec, random: () => number): void {
  const containers = [...(spec.initContainers ?? []), ...(spec.containers ?? [])].filter(
    ({ volumeMounts }) => !volumeMounts?.some((mount) => mount.mountPath === mountPath),
  )
  if (containers.length === 0) return
  const known = spec.volumes?.find(({ name }) => name.startsWith('kube-api-access-'))
  const name = known?.name ?? generateName('kube-api-access-', random)
  for (const container of containers) {
    container.volumeMounts = [...(container.volumeMounts ?? []), { name, readOnly: true, mountPath }]
  }
  if (!known) spec.volumes = [...(spec.volumes ?? []), tokenVolume(name)]
}

const tokenVolume = (name: string): NonNullable<PodSpec['volumes']>[number] => ({
  name,
  projected: {
    sources: [
      { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      {
        downwardAPI: {
          items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
        },
      },
    ],
    defaultMode: 420,
  },
})
