import { apiVersionOf } from '../../../shared/api/api-version.ts'
import { fromSelectorObject, matchesLabels } from '../../../shared/api/selectors/label-selector.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import type { Lookup, LookupAll } from '../../kind/lookup.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import type { ParamRef } from './policy.ts'

export interface ParamContext {
  lookup: Lookup
  lookupAll: LookupAll
  definitions(): readonly ResourceDefinition[]
}

/**
 * Returns the params of a policy binding: the policy is evaluated once for each of them, and null means an evaluation
 * without params. `namespace` is the namespace of the request. Throws an Error in upstream's words
 * (plugin/policy/generic CollectParams) if the kind of the params is unknown, the namespace does not fit the kind, or
 * params are missing and `parameterNotFoundAction` is `Deny`.
 */
export function collectParams(
  { lookup, lookupAll, definitions }: ParamContext,
  {
    paramKind,
    paramRef,
    namespace,
  }: {
    paramKind: { apiVersion: string; kind: string } | undefined
    paramRef: ParamRef | undefined
    namespace?: string
  },
): (KubeObject | null)[] {
  if (!paramKind || !paramRef) return [null]
  const { apiVersion, kind } = paramKind
  const definition = paramDefinition({ definitions }, paramKind)
  const where = namespaceOfParams(definition, paramRef, namespace)
  const found = find({ lookup, lookupAll }, definition, { paramRef, namespace: where })
  if (found.length === 0 && paramRef.parameterNotFoundAction === 'Deny')
    throw new Error('no params found for policy binding with `Deny` parameterNotFoundAction')
  return found.map((object) => ({ kind, apiVersion, ...object }))
}

/** Returns the resource of params. Throws an Error in upstream's words if there is none. */
export function paramDefinition(
  { definitions }: Pick<ParamContext, 'definitions'>,
  { apiVersion, kind }: { apiVersion: string; kind: string },
): ResourceDefinition {
  const found = definitions().find((other) => other.kind === kind && apiVersionOf(other) === apiVersion)
  if (found) return found
  const version = apiVersion.includes('/') ? apiVersion : `/${apiVersion}`
  throw new Error(`failed to find resource referenced by paramKind: '${version}, Kind=${kind}'`)
}

function namespaceOfParams(
  { namespaced }: ResourceDefinition,
  { namespace: wanted }: ParamRef,
  requested: string | undefined,
): string | undefined {
  if (!namespaced) {
    if (wanted) throw new Error('paramRef.namespace must not be provided for a cluster-scoped `paramKind`')
    return undefined
  }
  const namespace = wanted || requested
  if (!namespace)
    throw new Error('cannot use namespaced paramRef in policy binding that matches cluster-scoped resources')
  return namespace
}

function find(
  { lookup, lookupAll }: Pick<ParamContext, 'lookup' | 'lookupAll'>,
  definition: ResourceDefinition,
  { paramRef, namespace }: { paramRef: ParamRef; namespace: string | undefined },
): KubeObject[] {
  if (paramRef.name) {
    const found = lookup(definition, namespace, paramRef.name)
    return found ? [found] : []
  }
  const selector = fromSelectorObject(paramRef.selector) ?? []
  return [...lookupAll(definition, namespace)].filter(({ metadata }) => matchesLabels(selector, metadata.labels))
}
