import type { KubeObject, ObjectMeta } from '../../shared/api/types.ts'
import { clusterRoleBindings, roleBindings } from '../auth/rbac/bootstrap/bindings.ts'
import { clusterRoles } from '../auth/rbac/bootstrap/cluster-roles.ts'
import { controllerRoles } from '../auth/rbac/bootstrap/controller-roles.ts'
import { namespaceRoles } from '../auth/rbac/bootstrap/namespace-roles.ts'
import {
  aggregationRuleOf,
  type BindingRow,
  labelsOf,
  type RoleRow,
  ruleOf,
  subjectOf,
} from '../auth/rbac/bootstrap/rows.ts'
import { keyPrefix } from '../registry/keys.ts'
import type { Storage } from '../storage/storage.ts'
import { RBAC_GROUP } from '../validation/rbac-rules.ts'
import { ObjectTemplate, unstamped } from './object-template.ts'

const autoupdate = { 'rbac.authorization.kubernetes.io/autoupdate': 'true' }
const controllerPrefix = 'system:controller:'

/** Every control loop's role belongs to its service account. */
const controllerBindings: readonly BindingRow[] = controllerRoles.map(({ name }) => ({
  name,
  subjects: [`ServiceAccount kube-system/${name.slice(controllerPrefix.length)}`],
}))

let templates: readonly ObjectTemplate[] | undefined

/**
 * Stores the roles and bindings that every cluster has, where they are missing. They are written as they are, before
 * the first watch: as 160 requests they would take most of the start.
 */
export async function storeBootstrapPolicy(storage: Storage, creationTimestamp: string): Promise<void> {
  templates ??= makeTemplates()
  // At once, so that a storage that writes to disk does it in few strokes.
  await Promise.all(templates.map((template) => storage.put(template.put(creationTimestamp))))
}

function makeTemplates(): ObjectTemplate[] {
  const plain = { 'kubernetes.io/bootstrapping': 'rbac-defaults' }
  return [
    ...[...clusterRoles, ...controllerRoles].map((row) =>
      templateOf('clusterroles', row, labelsOf(row), roleBody(row)),
    ),
    ...[...clusterRoleBindings, ...controllerBindings].map((row) =>
      templateOf('clusterrolebindings', row, plain, bindingBody('ClusterRole', row)),
    ),
    ...namespaceRoles.map((row) => templateOf('roles', row, labelsOf(row), roleBody(row))),
    ...roleBindings.map((row) => templateOf('rolebindings', row, plain, bindingBody('Role', row))),
  ]
}

function templateOf(
  plural: string,
  { namespace, name }: RoleRow | BindingRow,
  labels: Record<string, string>,
  body: object,
): ObjectTemplate {
  const fields = {
    ...metadataFields(labels),
    ...Object.fromEntries(Object.keys(body).map((field) => [`f:${field}`, fieldSets[field] ?? {}])),
  }
  const key = keyPrefix({ group: RBAC_GROUP, plural }, namespace) + name
  const { uid, time } = unstamped
  const metadata: ObjectMeta = { name, namespace, uid, creationTimestamp: time, labels, annotations: autoupdate }
  metadata.managedFields = [managed(time, fields)]
  return new ObjectTemplate(key, { metadata, ...body } as KubeObject)
}

const roleBody = ({ rules, aggregates }: RoleRow) => ({
  ...(aggregates && { aggregationRule: aggregationRuleOf(aggregates) }),
  rules: rules?.map(ruleOf) ?? null,
})

const bindingBody = (kind: string, { name, role = name, subjects }: BindingRow) => ({
  roleRef: { apiGroup: RBAC_GROUP, kind, name: role },
  ...(subjects.length > 0 && { subjects: subjects.map(subjectOf) }),
})

const fieldSets: Readonly<Record<string, object>> = {
  aggregationRule: { '.': {}, 'f:clusterRoleSelectors': {} },
}

const metadataFields = (labels: Record<string, string>) => ({
  'f:metadata': {
    'f:annotations': { '.': {}, 'f:rbac.authorization.kubernetes.io/autoupdate': {} },
    'f:labels': { '.': {}, ...Object.fromEntries(Object.keys(labels).map((label) => [`f:${label}`, {}])) },
  },
})

const managed = (time: string, fieldsV1: object) => ({
  manager: 'kube-apiserver',
  operation: 'Update',
  apiVersion: `${RBAC_GROUP}/v1`,
  time,
  fieldsType: 'FieldsV1',
  fieldsV1,
})
