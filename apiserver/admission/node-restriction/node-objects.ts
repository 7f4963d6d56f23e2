import { isDeepStrictEqual } from 'node:util'
import type { Termination } from '../../../shared/api/termination.ts'
import type { KubeObject, Pod } from '../../../shared/api/types.ts'
import { readRequestedSubject } from '../../../shared/pki/signing-request.ts'
import type { NodeRule, NodeWrite } from './node-rule.ts'

const nameOf = ({ operation, object, name }: NodeWrite): string =>
  (operation === 'CREATE' ? object?.metadata.name : name) ?? ''

const namespaceOfLeases = 'kube-node-lease'

export const lease: NodeRule = (write) => {
  if (write.namespace !== namespaceOfLeases)
    return `can only access leases in the "${namespaceOfLeases}" system namespace`
  return nameOf(write) === write.nodeName
    ? undefined
    : 'can only access node lease with the same name as the requesting node'
}

export const csiNode: NodeRule = (write) =>
  nameOf(write) === write.nodeName ? undefined : 'can only access CSINode with the same name as the requesting node'

export const resourceSlice: NodeRule = ({ operation, nodeName, object, old }) => {
  if (operation === 'UPDATE') return undefined
  const { spec } = (object ?? old) as KubeObject & { spec?: { nodeName?: string } }
  if (spec?.nodeName === nodeName) return undefined
  return `can only ${operation.toLowerCase()} ResourceSlice with the same NodeName as the requesting node`
}

const kubeletSigners = ['kubernetes.io/kubelet-serving', 'kubernetes.io/kube-apiserver-client-kubelet']

/** A kubelet may request a client or serving certificate for kubelets only with the name of its own node. */
export const csr: NodeRule = ({ operation, nodeName, object }) => {
  if (operation !== 'CREATE') return undefined
  const { signerName = '', request = '' } = (object as KubeObject & { spec?: Record<string, string> }).spec ?? {}
  if (!kubeletSigners.includes(signerName)) return undefined
  const commonName = `system:node:${nodeName}`
  try {
    const subject = readRequestedSubject(Buffer.from(request, 'base64').toString('latin1'))
    return subject.commonName === commonName ? undefined : `can only create a node CSR with CN=${commonName}`
  } catch (error) {
    return `unable to parse csr: ${(error as Error).message}`
  }
}

/**
 * A kubelet may record how a pod of its own node ended, even if the pod is gone by then. Upstream has no such record.
 */
export const termination: NodeRule = ({ operation, nodeName, object, old, namespace, lookup }) => {
  if (operation === 'UPDATE') return lossesAlone(nodeName, object as Partial<Termination>, old as Partial<Termination>)
  if (operation !== 'CREATE') return undefined
  const { nodeName: told, podName = '', podUID } = object as unknown as Termination
  if (told !== nodeName) return 'can only create Termination with the same nodeName as the requesting node'
  const pod = lookup({ group: '', plural: 'pods' }, namespace, podName) as unknown as Pod | undefined
  return !pod || pod.metadata.uid !== podUID || pod.spec.nodeName === nodeName
    ? undefined
    : 'can only create Termination of a pod bound to the requesting node'
}

/** The losses at a pod are known after its record. */
function lossesAlone(nodeName: string, object: Partial<Termination>, old: Partial<Termination>): string | undefined {
  if (old.nodeName !== nodeName) return 'can only update Termination with the same nodeName as the requesting node'
  const others = ({ metadata, lostRequests, ...rest }: Partial<Termination>) => rest
  return isDeepStrictEqual(others(object), others(old)) ? undefined : 'can only update lostRequests of a Termination'
}
