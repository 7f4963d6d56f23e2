/** Requests that admission writes of into the audit log, and the annotations that a real server 1.36.3 has written. */
import type { AuditedRequest } from './requests.ts'

const group = '/apis/admissionregistration.k8s.io/v1'
const post = (path: string, body: object): AuditedRequest => ({
  method: 'POST',
  path,
  headers: { 'content-type': 'application/json' },
  body,
})
const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }

function policy(name: string, spec: object, validationActions = ['Audit']): AuditedRequest[] {
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': name } }
  const matchConstraints = { namespaceSelector, resourceRules: [rule] }
  return [
    post('/api/v1/namespaces', { metadata: { name } }),
    post(`${group}/validatingadmissionpolicies`, { metadata: { name }, spec: { matchConstraints, ...spec } }),
    post(`${group}/validatingadmissionpolicybindings`, {
      metadata: { name },
      spec: { policyName: name, validationActions },
    }),
  ]
}

const failing = [
  { key: 'name', valueExpression: 'string(int(object.metadata.name))' },
  { key: 'two', valueExpression: '"2"' },
]
const secured = { 'pod-security.kubernetes.io/audit': 'baseline', 'pod-security.kubernetes.io/enforce': 'restricted' }

export const before: AuditedRequest[] = [
  ...policy('v-audit', {
    validations: [
      { expression: 'object.metadata.name != "a"', message: 'not <a>' },
      { expression: 'object.metadata.name == "b"' },
    ],
    auditAnnotations: [
      { key: 'name', valueExpression: '" " + object.metadata.name + " "' },
      { key: 'none', valueExpression: 'null' },
      { key: 'empty', valueExpression: '"  "' },
    ],
  }),
  ...policy('w-error', { auditAnnotations: failing }),
  ...policy('w-ignore', { failurePolicy: 'Ignore', auditAnnotations: failing }),
  ...policy(
    'w-two',
    {
      validations: [{ expression: 'object.metadata.name == "b"', reason: 'Forbidden' }],
      auditAnnotations: [{ key: 'a', valueExpression: '"said"' }],
    },
    ['Deny', 'Audit'],
  ),
  post('/api/v1/namespaces', { metadata: { name: 'secured', labels: secured } }),
  ...['v-audit', 'secured'].map((namespace) =>
    post(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'default' } }),
  ),
]

const configMap = { metadata: { name: 'a' } }
const spec = { hostNetwork: true, automountServiceAccountToken: false, containers: [{ name: 'c', image: 'i' }] }
const pod = { metadata: { name: 'a' }, spec }
const selector = { matchLabels: { a: 'b' } }
const template = { metadata: { labels: { a: 'b' } }, spec }
const failure = 'validation.policy.admission.k8s.io/validation_failure'
const violations = 'would violate PodSecurity "baseline:latest": host namespaces (hostNetwork=true)'

/** A request, the code of its answer, and the annotations besides those of authorization. */
export const answered: [AuditedRequest, number, object][] = [
  [
    post('/api/v1/namespaces/v-audit/configmaps', configMap),
    201,
    {
      'v-audit/name': 'a',
      [failure]:
        '[{"message":"not \\u003ca\\u003e","policy":"v-audit","binding":"v-audit","expressionIndex":0,"validationActions":["Audit"]}]',
    },
  ],
  [post('/api/v1/namespaces/w-error/configmaps', configMap), 422, { 'w-error/two': '2' }],
  [post('/api/v1/namespaces/w-ignore/configmaps', configMap), 201, { 'w-ignore/two': '2' }],
  [
    post('/api/v1/namespaces/w-two/configmaps', configMap),
    403,
    {
      'w-two/a': 'said',
      [failure]:
        '[{"message":"failed expression: object.metadata.name == \\"b\\"","policy":"w-two","binding":"w-two","expressionIndex":0,"validationActions":["Deny","Audit"]}]',
    },
  ],
  [
    post('/api/v1/namespaces/v-audit/pods', pod),
    201,
    { 'pod-security.kubernetes.io/enforce-policy': 'privileged:latest' },
  ],
  [
    post('/api/v1/namespaces/secured/pods', pod),
    403,
    {
      'pod-security.kubernetes.io/audit-violations': violations,
      'pod-security.kubernetes.io/enforce-policy': 'restricted:latest',
    },
  ],
  [
    post('/apis/apps/v1/namespaces/secured/deployments', { metadata: { name: 'a' }, spec: { selector, template } }),
    201,
    { 'pod-security.kubernetes.io/audit-violations': violations },
  ],
]
