import { TUNNEL_SELECTOR } from '../../shared/api/pods/network-labels.ts'
import { type FieldSelector, parseFieldSelector } from '../../shared/api/selectors/field-selector.ts'
import type { NodeRelations } from './node-relations.ts'
import { clusterRoles } from './rbac/bootstrap/cluster-roles.ts'
import { ruleOf } from './rbac/bootstrap/rows.ts'
import { allows } from './rbac/policy-rule.ts'
import type { Attributes, RequestedResource } from './types.ts'

export interface Question extends Attributes {
  nodeName: string
  resource: RequestedResource
  relations: NodeRelations
}
/** `true` allows; a text is the refusal's reason. */
type Answer = true | string
type Rule = (question: Question) => Answer

const unrelated = (nodeName: string): string => `no relationship found between node '${nodeName}' and this object`
const refused = ''

/** The object named is one that the node's pods refer to, or that belongs to the node. */
const related: Rule = ({ nodeName, resource, relations }) => {
  const { group, resource: plural, namespace = '', name } = resource
  if (!name) return 'No Object name found'
  return relations.has(nodeName, { group, plural }, { namespace, name }) || unrelated(nodeName)
}

const getRelated: Rule = (question) => {
  if (question.verb !== 'get') return 'can only get individual resources of this type'
  return question.resource.subresource ? 'cannot get subresource' : related(question)
}

const readRelated: Rule = (question) => {
  const { verb, resource } = question
  if (!['get', 'list', 'watch'].includes(verb)) return 'can only read resources of this type'
  if (resource.subresource) return 'cannot read subresource'
  return resource.namespace ? related(question) : 'can only read namespaced object of this type'
}

const claims: Rule = (question) => {
  if (question.resource.subresource !== 'status') return getRelated(question)
  return ['update', 'patch'].includes(question.verb) ? related(question) : 'can only get/update/patch this type'
}

const serviceAccounts: Rule = (question) => {
  const { verb, resource } = question
  if (verb === 'get' && !resource.subresource) return readRelated(question)
  if (verb !== 'create' || !resource.name) return 'can only create tokens for individual service accounts'
  return resource.subresource === 'token' ? related(question) : 'can only create token subresource of serviceaccount'
}

const ownVerbs = ['get', 'create', 'update', 'patch', 'delete']
const namespaceOfLeases = 'kube-node-lease'

/** The name of a new object is left to NodeRestriction, here and below. */
const leases: Rule = ({ nodeName, verb, resource: { namespace, name } }) => {
  if (!ownVerbs.includes(verb)) return 'can only get, create, update, patch, or delete a node lease'
  if (namespace !== namespaceOfLeases) return `can only access leases in the "${namespaceOfLeases}" system namespace`
  return (
    verb === 'create' || name === nodeName || 'can only access node lease with the same name as the requesting node'
  )
}

const csiNodes: Rule = ({ nodeName, verb, resource: { subresource, name } }) => {
  if (!ownVerbs.includes(verb)) return 'can only get, create, update, patch, or delete a CSINode'
  if (subresource) return 'cannot authorize CSINode subresources'
  return verb === 'create' || name === nodeName || 'can only access CSINode with the same name as the requesting node'
}

const resourceSlices: Rule = (question) => {
  const { verb, resource } = question
  if (resource.subresource) return 'cannot authorize ResourceSlice subresources'
  if (verb === 'create') return true
  if (['get', 'update', 'patch', 'delete'].includes(verb)) return related(question)
  return selectsOwn(question) || 'can only list/watch/deletecollection resourceslices with nodeName field selector'
}

const nodes: Rule = ({ nodeName, verb, resource: { subresource, name, labelSelector } }) => {
  if (subresource) return (subresource === 'status' && ['update', 'patch'].includes(verb)) || refused
  if (['create', 'update', 'patch'].includes(verb)) return true
  if (!['get', 'list', 'watch'].includes(verb)) return refused
  if (name === nodeName || (verb !== 'get' && selectsTunnels(labelSelector))) return true
  return name
    ? `node '${nodeName}' cannot read '${name}', only its own Node object`
    : `node '${nodeName}' cannot read all nodes, only its own Node object`
}

const podVerbs: Readonly<Record<string, readonly string[]>> = {
  '': ['create', 'delete'],
  status: ['update', 'patch'],
  eviction: ['create'],
}

const pods: Rule = (question) => {
  const { verb, resource } = question
  const { subresource = '', name } = resource
  if (subresource === '' && verb === 'get') return getRelated(question)
  if (subresource === '' && (verb === 'list' || verb === 'watch')) {
    if (selectsOwn(question) || selectsNetworked(question)) return true
    return name ? related(question) : 'can only list/watch pods with spec.nodeName field selector'
  }
  return (Object.hasOwn(podVerbs, subresource) && podVerbs[subresource]?.includes(verb)) || refused
}

/** Holds the rules by `resource.group`. Upstream: plugin/pkg/auth/authorizer/node/node_authorizer.go. */
const rules = new Map<string, Rule>([
  ['secrets', readRelated],
  ['configmaps', readRelated],
  ['persistentvolumeclaims', claims],
  ['persistentvolumes', getRelated],
  ['resourceclaims.resource.k8s.io', getRelated],
  ['volumeattachments.storage.k8s.io', getRelated],
  ['serviceaccounts', serviceAccounts],
  ['leases.coordination.k8s.io', leases],
  ['csinodes.storage.k8s.io', csiNodes],
  ['resourceslices.resource.k8s.io', resourceSlices],
  ['nodes', nodes],
  ['pods', pods],
  // Beyond upstream: the records that our kubelet writes. Which ones is left to NodeRestriction.
  [
    'terminations.kubestage.dev',
    ({ verb, resource }) => (['create', 'patch'].includes(verb) && !resource.subresource) || refused,
  ],
  // Beyond upstream: our kubelet is the node's proxy and resolver, too, and its network plugin.
  ['endpointslices.discovery.k8s.io', ({ verb }) => ['list', 'watch'].includes(verb) || refused],
  ['networkpolicies.networking.k8s.io', ({ verb }) => ['list', 'watch'].includes(verb) || refused],
  ['namespaces', ({ verb, resource }) => (['list', 'watch'].includes(verb) && !resource.name) || refused],
  ['servicecidrs.networking.k8s.io', ({ verb }) => ['list', 'watch'].includes(verb) || refused],
])

/** Holds the rules for what is not divided between nodes. */
const nodeRole = (clusterRoles.find(({ name }) => name === 'system:node')?.rules ?? []).map(ruleOf)

export function answerNode(question: Question): Answer {
  const { group, resource } = question.resource
  const rule = rules.get(group ? `${resource}.${group}` : resource)
  return rule ? rule(question) : nodeRole.some((rule) => allows(rule, question)) || refused
}

function selectsOwn({ nodeName, resource: { fieldSelector = '' } }: Question): boolean {
  return selectorOf(fieldSelector).some(
    ({ field, equal, value }) => field === 'spec.nodeName' && equal && value === nodeName,
  )
}

/** Beyond upstream: policies mean all pods that have networks. Upstream: the network plugin has a user of its own. */
const selectsNetworked = ({ resource: { fieldSelector = '' } }: Question): boolean =>
  selectorOf(fieldSelector).some(
    ({ field, equal, value }) => field === 'spec.hostNetwork' && equal && value === 'false',
  )

/** Beyond upstream: the ends of a tunnel are what Node objects say. */
const selectsTunnels = (labelSelector: string | undefined): boolean => labelSelector === TUNNEL_SELECTOR

/** A malformed selector selects nothing: the request itself is refused for it later. */
function selectorOf(text: string): FieldSelector {
  try {
    return parseFieldSelector(text)
  } catch {
    return []
  }
}
