/**
 * The types of what expressions of admission see besides objects. Upstream: BuildRequestType and BuildNamespaceType of
 * k8s.io/apiserver/pkg/admission/plugin/cel/compile.go.
 */
import { BOOL, type CelType, DYN, INT, listOf, mapOf, opaque, STRING, struct, TIMESTAMP } from './types.ts'

const object = (name: string, fields: Record<string, CelType>): CelType =>
  struct(`kubernetes.${name}`, new Map(Object.entries(fields)))
const texts = listOf(STRING)
const textMap = mapOf(STRING, STRING)

const kind = object('GroupVersionKind', { group: STRING, version: STRING, kind: STRING })
const resource = object('GroupVersionResource', { group: STRING, version: STRING, resource: STRING })
const userInfo = object('UserInfo', {
  username: STRING,
  uid: STRING,
  groups: texts,
  extra: mapOf(STRING, texts),
})
export const requestType = object('AdmissionRequest', {
  kind,
  resource,
  subResource: STRING,
  requestKind: kind,
  requestResource: resource,
  requestSubResource: STRING,
  name: STRING,
  namespace: STRING,
  operation: STRING,
  userInfo,
  dryRun: BOOL,
  options: DYN,
})

export const namespaceType = object('Namespace', {
  metadata: object('NamespaceMetadata', {
    name: STRING,
    generateName: STRING,
    namespace: STRING,
    labels: textMap,
    annotations: textMap,
    UID: STRING,
    creationTimestamp: TIMESTAMP,
    deletionGracePeriodSeconds: INT,
    deletionTimestamp: TIMESTAMP,
    generation: INT,
    resourceVersion: STRING,
    finalizers: texts,
  }),
  spec: object('NamespaceSpec', { finalizers: texts }),
  status: object('NamespaceStatus', {
    conditions: listOf(
      object('NamespaceCondition', {
        status: STRING,
        type: STRING,
        lastTransitionTime: TIMESTAMP,
        message: STRING,
        reason: STRING,
      }),
    ),
    phase: STRING,
  }),
})

export const authorizerTypes: readonly [name: string, type: CelType][] = [
  ['authorizer', opaque('kubernetes.authorization.Authorizer')],
  ['authorizer.requestResource', opaque('kubernetes.authorization.ResourceCheck')],
]
