/** Requests that webhooks see, and what the webhooks answer. `WEBHOOK` and `CA_BUNDLE` stand for the server of both. */
import { type Answer, admitted, denied, patched } from '../../harness/webhook-server.ts'
import type { AuditedRequest } from './requests.ts'

type Review = Parameters<Answer>[0]
const nameIn = ({ request }: Review): unknown => (request as { name?: string }).name

/** The answers of webhooks, by the first label of their names. */
export const answers: Readonly<Record<string, Answer>> = {
  label: (review) => {
    const answer = patched(review, { op: 'add', path: '/metadata/annotations', value: { z: '<1>', a: 'b' } }) as Review
    const auditAnnotations = { note: '<said>', 'not/allowed': 'x' }
    return { ...answer, response: { ...(answer.response as Review), auditAnnotations } }
  },
  look: (review) => admitted(review, { auditAnnotations: { note: 'seen' } }),
  same: (review) => patched(review, { op: 'test', path: '/metadata/name', value: nameIn(review) }),
  broken: ({ apiVersion, kind }) => ({ apiVersion, kind }),
  judge: (review) =>
    nameIn(review) === 'denied'
      ? denied(review, { message: 'no' })
      : admitted(review, { auditAnnotations: { verdict: 'good' } }),
}

const namespace = 'hooked'
const rules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps', 'secrets'] }]

const webhook = (label: string, more: object = {}) => ({
  name: `${label}.example.com`,
  clientConfig: { url: `WEBHOOK/${label}`, caBundle: 'CA_BUNDLE' },
  rules,
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  ...more,
})

const configuration = (kind: 'mutating' | 'validating', name: string, webhooks: object[]): AuditedRequest => ({
  method: 'POST',
  path: `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations`,
  body: { metadata: { name }, webhooks },
})

const otherRules = [{ ...rules[0], resources: ['services'] }]
const open = { failurePolicy: 'Ignore' }
const create = (plural: string, name: string, query = ''): AuditedRequest => ({
  method: 'POST',
  path: `/api/v1/namespaces/${namespace}/${plural}${query}`,
  body: { metadata: { name } },
})

export const webhookRequests: readonly AuditedRequest[] = [
  { method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: namespace } } },
  configuration('mutating', 'first', [
    webhook('other', { rules: otherRules }),
    webhook('look', { reinvocationPolicy: 'IfNeeded' }),
    webhook('label'),
    webhook('same'),
  ]),
  configuration('mutating', 'second', [webhook('broken', open)]),
  configuration('validating', 'last', [webhook('other', { rules: otherRules }), webhook('broken', open), webhook('judge')]),
  create('configmaps', 'a'),
  create('secrets', 'a'),
  create('configmaps', 'denied'),
  create('configmaps', 'b', '?dryRun=All'),
  { method: 'GET', path: `/api/v1/namespaces/${namespace}/configmaps/a` },
  configuration('mutating', 'third', [webhook('broken', { matchPolicy: 'Exact' })]),
  create('configmaps', 'c'),
]
