/** Webhooks and policies of admission. */

import type {
  V1MutatingAdmissionPolicy,
  V1MutatingAdmissionPolicyBinding,
  V1MutatingWebhookConfiguration,
  V1ValidatingAdmissionPolicy,
  V1ValidatingAdmissionPolicyBinding,
  V1ValidatingWebhookConfiguration,
} from '@kubernetes/client-node'
import type { ObjectMeta, WithMeta } from '../../../../shared/api/types.ts'
import { age, ageColumn, column, nameColumn } from '../../../kind/cells.ts'
import type { ResourceDefinition } from '../../../kind/resource-definition.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { validateConditions } from '../../parts/conditions.ts'
import { contentOrEmptinessChanged, plain } from '../../parts/plain.ts'
import {
  validateMatchResources,
  validateMutatingPolicySpec,
  validateParamRef,
  validatePolicyName,
  validatePolicySpec,
  validateValidationActions,
} from './validate-policies.ts'
import { validateWebhooks } from './validate-webhooks.ts'

const group = 'admissionregistration.k8s.io'
const categories = ['api-extensions']
const common = { unqualifiedFinalizers: true, warnings: staticNameWarnings, allowUnconditionalUpdate: false }
const commonToWebhooks = { ...common, generation: { changed: contentOrEmptinessChanged } }

const rules = (): object => ({
  apiGroups: ['apps'],
  apiVersions: ['v1'],
  operations: ['CREATE'],
  resources: ['deployments'],
})

interface Rule {
  scope?: string
}
interface MatchResources {
  matchPolicy?: string
  namespaceSelector?: object
  objectSelector?: object
  resourceRules?: Rule[]
  excludeResourceRules?: Rule[]
}
function defaultMatch(match: MatchResources | undefined): void {
  if (!match) return
  match.matchPolicy ||= 'Equivalent'
  match.namespaceSelector ??= {}
  match.objectSelector ??= {}
  for (const rule of [...(match.resourceRules ?? []), ...(match.excludeResourceRules ?? [])]) rule.scope ??= '*'
}

interface Webhook {
  failurePolicy?: string
  matchPolicy?: string
  namespaceSelector?: object
  objectSelector?: object
  timeoutSeconds?: number
  rules?: Rule[]
  clientConfig: { service?: { port?: number } }
}
const WEBHOOK_SECONDS = 10
function defaultWebhook(webhook: Webhook): void {
  webhook.failurePolicy ??= 'Fail'
  webhook.matchPolicy ??= 'Equivalent'
  webhook.namespaceSelector ??= {}
  webhook.objectSelector ??= {}
  webhook.timeoutSeconds ??= WEBHOOK_SECONDS
  if (webhook.clientConfig.service) webhook.clientConfig.service.port ??= 443
  for (const rule of webhook.rules ?? []) rule.scope ??= '*'
}

const webhookColumns = [nameColumn, column('Webhooks', 'How many webhooks it has.', { type: 'integer' }), ageColumn]
const webhookCells = ({ metadata, webhooks = [] }: { metadata: ObjectMeta; webhooks?: unknown[] }, nowMs: number) => [
  metadata.name,
  webhooks.length,
  age(metadata.creationTimestamp, nowMs),
]
const webhookExample = () => ({
  name: 'check.example.com',
  clientConfig: { url: 'https://127.0.0.1:8443/check' },
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  rules: [rules()],
})

const validatingwebhookconfiguration = plain<WithMeta<V1ValidatingWebhookConfiguration>>({
  group,
  kind: 'ValidatingWebhookConfiguration',
  plural: 'validatingwebhookconfigurations',
  categories,
  columns: webhookColumns,
  cells: webhookCells,
  strategy: {
    ...commonToWebhooks,
    applyDefaults: ({ webhooks = [] }) => webhooks.forEach(defaultWebhook),
    validate: ({ webhooks = [] }, errors) => validateWebhooks(webhooks, errors),
  },
  example: { metadata: { name: 'check' }, webhooks: [webhookExample()] },
})

const mutatingwebhookconfiguration = plain<WithMeta<V1MutatingWebhookConfiguration>>({
  group,
  kind: 'MutatingWebhookConfiguration',
  plural: 'mutatingwebhookconfigurations',
  categories,
  columns: webhookColumns,
  cells: webhookCells,
  strategy: {
    ...commonToWebhooks,
    applyDefaults({ webhooks = [] }) {
      for (const webhook of webhooks) {
        defaultWebhook(webhook)
        webhook.reinvocationPolicy ??= 'Never'
      }
    },
    validate: ({ webhooks = [] }, errors) => validateWebhooks(webhooks, errors),
  },
  example: { metadata: { name: 'change' }, webhooks: [webhookExample()] },
})

interface ParamKind {
  apiVersion?: string
  kind?: string
}
const paramKindText = (param: ParamKind | undefined): string =>
  param ? `${param.apiVersion ?? ''}/${param.kind ?? ''}` : '<unset>'
interface ParamRef {
  name?: string
  namespace?: string
}
const paramRefText = (param: ParamRef | undefined): string => {
  if (!param) return '<unset>'
  if (!param.name) return '*/'
  return param.namespace ? `${param.namespace}/${param.name}` : `*/${param.name}`
}

const bindingColumns = [
  nameColumn,
  column('PolicyName', 'The policy that it puts in force.'),
  column('ParamRef', 'What the policy is given.'),
  ageColumn,
]

interface PolicyBinding {
  metadata: ObjectMeta
  spec?: { policyName?: string; paramRef?: ParamRef }
}
const bindingCells = ({ metadata, spec }: PolicyBinding, nowMs: number) => [
  metadata.name,
  spec?.policyName ?? '',
  paramRefText(spec?.paramRef),
  age(metadata.creationTimestamp, nowMs),
]

interface Policy {
  metadata: ObjectMeta
  spec?: { failurePolicy?: string; matchConstraints?: MatchResources; paramKind?: ParamKind }
}
const policyColumns = (counted: string, description: string) => [
  nameColumn,
  column(counted, description, { type: 'integer' }),
  column('ParamKind', 'Kind of what it is given.'),
  ageColumn,
]
const policyCells = ({ metadata, spec }: Policy, counted: unknown[] = [], nowMs: number) => [
  metadata.name,
  counted.length,
  paramKindText(spec?.paramKind),
  age(metadata.creationTimestamp, nowMs),
]
function defaultPolicy({ spec }: Policy): void {
  if (!spec) return
  spec.failurePolicy ??= 'Fail'
  defaultMatch(spec.matchConstraints)
}

export const validatingadmissionpolicy = plain<WithMeta<V1ValidatingAdmissionPolicy>>({
  group,
  kind: 'ValidatingAdmissionPolicy',
  plural: 'validatingadmissionpolicies',
  categories,
  columns: policyColumns('Validations', 'How many rules it has.'),
  cells: (policy, nowMs) => policyCells(policy, policy.spec?.validations, nowMs),
  hasStatus: true,
  statusKeepsMetadata: true,
  countsGenerations: true,
  strategy: {
    ...common,
    applyDefaults: defaultPolicy,
    validate: (policy, errors) => validatePolicySpec(policy, errors),
    validateUpdate(policy, _old, errors, { subresource }) {
      if (subresource === 'status') validateConditions(policy.status?.conditions, 'status.conditions', errors)
      else validatePolicySpec(policy, errors)
    },
  },
  example: {
    metadata: { name: 'limit' },
    spec: {
      matchConstraints: { resourceRules: [rules()] },
      validations: [{ expression: 'object.spec.replicas <= 5' }],
    },
  },
})

function validateBinding(spec: V1MutatingAdmissionPolicyBinding['spec'], errors: FieldErrors): void {
  validatePolicyName(spec?.policyName, errors)
  if (spec?.paramRef) validateParamRef(spec.paramRef, 'spec.paramRef', errors)
  if (spec?.matchResources) validateMatchResources(spec.matchResources, 'spec.matchResources', errors)
}

const validatingadmissionpolicybinding = plain<WithMeta<V1ValidatingAdmissionPolicyBinding>>({
  group,
  kind: 'ValidatingAdmissionPolicyBinding',
  plural: 'validatingadmissionpolicybindings',
  categories,
  columns: bindingColumns,
  cells: bindingCells,
  countsGenerations: true,
  strategy: {
    ...common,
    applyDefaults: ({ spec }) => defaultMatch(spec?.matchResources),
    validate({ spec }, errors) {
      validateBinding(spec, errors)
      validateValidationActions(spec?.validationActions, 'spec.validationActions', errors)
    },
  },
  example: { metadata: { name: 'limit' }, spec: { policyName: 'limit', validationActions: ['Deny'] } },
})

const mutatingadmissionpolicy = plain<WithMeta<V1MutatingAdmissionPolicy>>({
  group,
  storageVersion: 'v1beta1',
  kind: 'MutatingAdmissionPolicy',
  plural: 'mutatingadmissionpolicies',
  categories,
  columns: policyColumns('Mutations', 'How many changes it makes.'),
  cells: (policy, nowMs) => policyCells(policy, policy.spec?.mutations, nowMs),
  countsGenerations: true,
  strategy: {
    ...common,
    applyDefaults: defaultPolicy,
    validate: ({ spec }, errors) => validateMutatingPolicySpec(spec, errors),
  },
  example: {
    metadata: { name: 'label' },
    spec: {
      reinvocationPolicy: 'Never',
      matchConstraints: { resourceRules: [rules()] },
      mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'Object{}' } }],
    },
  },
})

const mutatingadmissionpolicybinding = plain<WithMeta<V1MutatingAdmissionPolicyBinding>>({
  group,
  storageVersion: 'v1beta1',
  kind: 'MutatingAdmissionPolicyBinding',
  plural: 'mutatingadmissionpolicybindings',
  categories,
  columns: bindingColumns,
  cells: bindingCells,
  countsGenerations: true,
  strategy: {
    ...common,
    applyDefaults: ({ spec }) => defaultMatch(spec?.matchResources),
    validate: ({ spec }, errors) => validateBinding(spec, errors),
  },
  example: { metadata: { name: 'label' }, spec: { policyName: 'label' } },
})

export const admissionregistration: ResourceDefinition[] = [
  mutatingadmissionpolicy,
  mutatingadmissionpolicybinding,
  mutatingwebhookconfiguration,
  validatingadmissionpolicy,
  validatingadmissionpolicybinding,
  validatingwebhookconfiguration,
]

function staticNameWarnings({ metadata }: { metadata: ObjectMeta }): string[] {
  const suffix = '.static.k8s.io'
  if (!metadata.name?.endsWith(suffix)) return []
  return [
    `metadata.name: names ending with "${suffix}" are reserved for static manifest-based configurations and cannot be managed via the API`,
  ]
}
