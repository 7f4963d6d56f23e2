import type { NodePods } from './node-pods.ts'
import { namesInPod } from './pod-references.ts'
import type { RequestedResource } from './types.ts'

export interface NodeRule {
  verbs: readonly string[]
  relation: Relation
}
interface Question {
  nodeName: string
  resource: RequestedResource
  nodePods: NodePods
}
type Relation = (question: Question) => boolean | Promise<boolean>

const anyObject: Relation = () => true
const ownNode: Relation = ({ nodeName, resource }) =>
  resource.name === nodeName || selects(resource, 'metadata.name', nodeName)
/** The name of a new object is only in its body. */
const newOrOwn: Relation = ({ nodeName, resource }) => resource.name === undefined || resource.name === nodeName
const ownLease: Relation = (question) => question.resource.namespace === 'kube-node-lease' && newOrOwn(question)

/** A pod that is gone, or on no node yet, is nobody's: the kubelet gets its 404 or Conflict, not a 403. */
const ownPod: Relation = ({ nodeName, resource, nodePods }) => {
  const boundTo = nodePods.nodeOf({ namespace: resource.namespace ?? '', name: resource.name ?? '' })
  return boundTo === undefined || boundTo === nodeName
}
const ownPods: Relation = (question) =>
  question.resource.name === undefined
    ? selects(question.resource, 'spec.nodeName', question.nodeName)
    : ownPod(question)

const namedByOwnPod: Relation = async ({ nodeName, resource, nodePods }) => {
  const { namespace, name } = resource
  if (!namespace || !name) return false
  const candidates = await nodePods.onNode(nodeName, namespace)
  return candidates.some((pod) => namesInPod(pod, resource.resource).includes(name))
}

/** Through the claim that it is bound to. */
const volumeOfOwnPod: Relation = async ({ nodeName, resource, nodePods }) => {
  const claim = resource.name === undefined ? undefined : await nodePods.claimOf(resource.name)
  if (!claim?.namespace) return false
  const candidates = await nodePods.onNode(nodeName, claim.namespace)
  return candidates.some((pod) => namesInPod(pod, 'persistentvolumeclaims').includes(claim.name))
}

const read = ['get', 'list', 'watch']

/** By `group/resource/subresource`, the core group without a name. */
const nodeRules: Readonly<Record<string, readonly NodeRule[]>> = {
  nodes: [
    { verbs: ['create'], relation: newOrOwn },
    { verbs: [...read, 'update', 'patch'], relation: ownNode },
  ],
  'nodes/status': [{ verbs: ['update', 'patch'], relation: ownNode }],
  pods: [
    { verbs: read, relation: ownPods },
    // Which ones is for admission to say.
    { verbs: ['create'], relation: anyObject },
    { verbs: ['delete'], relation: ownPod },
  ],
  'pods/status': [{ verbs: ['update', 'patch'], relation: ownPod }],
  services: [{ verbs: read, relation: anyObject }],
  events: [{ verbs: ['create', 'update', 'patch'], relation: anyObject }],
  'kubestage.dev/terminations': [{ verbs: ['create'], relation: anyObject }],
  configmaps: [{ verbs: read, relation: namedByOwnPod }],
  secrets: [{ verbs: read, relation: namedByOwnPod }],
  persistentvolumeclaims: [{ verbs: ['get'], relation: namedByOwnPod }],
  persistentvolumes: [{ verbs: ['get'], relation: volumeOfOwnPod }],
  'serviceaccounts/token': [{ verbs: ['create'], relation: namedByOwnPod }],
  // For those who speak to the kubelet: who they are, and what they may do.
  'authentication.k8s.io/tokenreviews': [{ verbs: ['create'], relation: anyObject }],
  'authorization.k8s.io/subjectaccessreviews': [{ verbs: ['create'], relation: anyObject }],
  'certificates.k8s.io/certificatesigningrequests': [{ verbs: ['create', ...read], relation: anyObject }],
  'coordination.k8s.io/leases': [{ verbs: ['get', 'create', 'update', 'patch', 'delete'], relation: ownLease }],
  'node.k8s.io/runtimeclasses': [{ verbs: read, relation: anyObject }],
}

/** The first one that has the verb decides. */
export function rulesAbout({ group, resource, subresource }: RequestedResource): readonly NodeRule[] {
  const key = `${group && `${group}/`}${resource}${subresource ? `/${subresource}` : ''}`
  return (Object.hasOwn(nodeRules, key) && nodeRules[key]) || []
}

function selects({ fieldSelector = '' }: RequestedResource, field: string, value: string): boolean {
  return fieldSelector.split(',').some((term) => term.trim().replace('==', '=') === `${field}=${value}`)
}
