/** The status of policies, with the warnings of their type checks, and of flow schemas. */
import type { V1FlowSchema } from '@kubernetes/client-node'
import t from 'tap'
import { expressionWarnings } from '../../apiserver/admission/policies/type-check.ts'
import type { KubeObject, WithMeta } from '../../shared/api/types.ts'
import {
  customResourceDefinitions,
  flowSchemas,
  priorityLevels,
  validatingAdmissionPolicies,
} from '../../shared/client/resources.ts'
import { startTestControlPlane } from '../harness/control-plane.ts'
import { until } from '../harness/until.ts'

const rule = (apiGroups: string[], resources: string[]) => ({
  apiGroups,
  apiVersions: ['v1'],
  operations: ['CREATE'],
  resources,
})
const deployments = rule(['apps'], ['deployments'])
const policy = (name: string, rules: object[], validations: object[], more: object = {}) => ({
  metadata: { name },
  spec: { matchConstraints: { resourceRules: rules }, validations, ...more },
})
interface Status {
  observedGeneration?: number
  typeChecking?: { expressionWarnings?: { fieldRef: string; warning: string }[] }
}

t.test('the status of a policy has the warnings of its type check', async (t) => {
  const { client } = await startTestControlPlane(t, { controllers: ['validatingadmissionpolicy-status'] })
  const statusOf = async (name: string, generation = 1): Promise<Status> =>
    until(
      async () => {
        const { status } = await client.get<KubeObject & { status?: Status }>(validatingAdmissionPolicies, { name })
        return status?.typeChecking && status.observedGeneration === generation ? status : undefined
      },
      { what: `the status of ${name}` },
    )
  const make = (body: object) => client.create(validatingAdmissionPolicies, body)
  await make(policy('fine', [deployments], [{ expression: 'object.spec.replicas > 1' }]))
  t.strictSame(await statusOf('fine'), { observedGeneration: 1, typeChecking: {} })
  await make(
    policy(
      'confused',
      [deployments],
      [
        {
          expression: "object.spec.replicas > '1'",
          messageExpression: "'wants replicas > 1, got ' + object.spec.replicas",
        },
      ],
    ),
  )
  t.match((await statusOf('confused')).typeChecking?.expressionWarnings, [
    {
      fieldRef: 'spec.validations[0].expression',
      warning:
        "apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_>_' applied to '(int, string)'\n | object.spec.replicas > '1'\n | .....................^\n",
    },
    {
      fieldRef: 'spec.validations[0].messageExpression',
      warning: /found no matching overload for '_\+_' applied to '\(string, int\)'/,
    },
  ])
  await client.patch(
    validatingAdmissionPolicies,
    { name: 'confused' },
    { spec: { validations: [{ expression: 'object.spec.replicas > 1' }] } },
  )
  t.strictSame((await statusOf('confused', 2)).typeChecking, {})

  const shape = {
    type: 'object',
    properties: { spec: { type: 'object', properties: { count: { type: 'integer' } } } },
  }
  await client.create(customResourceDefinitions, {
    metadata: { name: 'things.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: shape } }],
    },
  })
  const things = rule(['example.com'], ['things'])
  await make(policy('custom', [things], [{ expression: "object.spec.count == 1 && object.metadata.labels.a == 'b'" }]))
  t.strictSame((await statusOf('custom')).typeChecking, {})
  await make(policy('custom-wrong', [things], [{ expression: 'object.spec.size == 1' }]))
  t.match((await statusOf('custom-wrong')).typeChecking?.expressionWarnings?.[0]?.warning, /undefined field 'size'/)

  await t.test('a flow schema is told whether its priority level exists', async (t) => {
    const refers = 'This FlowSchema references the PriorityLevelConfiguration object named "rare"'
    const dangling = async (status: string) =>
      until(
        async () => {
          const schema = await client.get<WithMeta<V1FlowSchema>>(flowSchemas, { name: 'rare' })
          const condition = schema.status?.conditions?.[0]
          const managers = schema.metadata.managedFields as { manager?: string }[] | undefined
          return condition?.status === status ? { condition, managers } : undefined
        },
        { what: `Dangling=${status}` },
      )
    const spec = { priorityLevelConfiguration: { name: 'rare' }, matchingPrecedence: 100, rules: [] }
    await client.create<object>(flowSchemas, { metadata: { name: 'rare' }, spec })
    const absent = await dangling('True')
    t.match(absent.condition, { reason: 'NotFound', message: `${refers} but there is no such object` })
    const manager = 'api-priority-and-fairness-config-consumer-v1'
    t.match(
      absent.managers?.find((entry) => entry.manager === manager),
      { operation: 'Apply', subresource: 'status' },
    )
    const limited = { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } }
    await client.create<object>(priorityLevels, { metadata: { name: 'rare' }, spec: limited })
    t.match((await dangling('False')).condition, { reason: 'Found', message: `${refers} and it exists` })
    const updated = await client.update<object>(flowSchemas, { metadata: { name: 'rare' }, spec })
    t.match(updated, { metadata: { name: 'rare' } }, 'an update needs no resource version')
  })
})

t.test('what is checked', async (t) => {
  const kinds = [
    { group: 'apps', version: 'v1', plural: 'deployments', kind: 'Deployment' },
    { group: 'apps', version: 'v1', plural: 'statefulsets', kind: 'StatefulSet' },
    { group: '', version: 'v1', plural: 'pods', kind: 'Pod' },
    { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap' },
  ]
  const warnings = (rules: object[], expression: string, more: object = {}) =>
    expressionWarnings(policy('p', rules, [{ expression }], more) as Parameters<typeof expressionWarnings>[0], {
      kinds,
      customSchema: () => undefined,
    }).map(({ warning }) => warning)
  const nothing = 'object.spec.nothing == 1'
  t.match(warnings([rule(['apps'], ['statefulsets', 'deployments'])], nothing), [
    /^apps\/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'nothing'[\s\S]*\n\napps\/v1, Kind=StatefulSet: ERROR/,
  ])
  t.match(warnings([rule([''], ['pods'])], nothing), [/^\/v1, Kind=Pod: ERROR/])
  for (const unnamed of [rule(['*'], ['pods']), rule([''], ['*']), rule([''], ['pods/status']), rule(['x'], ['pods'])])
    t.strictSame(warnings([unnamed], nothing), [], 'kinds behind stars, subresources and unknown ones are not')
  const pods = [rule([''], ['pods'])]
  const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' }
  t.strictSame(warnings(pods, "params.data['a'] == 'b'", { paramKind }), [])
  t.match(warnings(pods, 'params.data == 1', { paramKind }), [/applied to '\(map\(string, string\), int\)'/])
  const variables = [{ name: 'first', expression: 'object.spec.containers[0]' }]
  t.match(warnings(pods, "variables.first.name == 1 && object.spec.containers[0].name == 'a'", { variables }), [])
  t.match(warnings(pods, 'object.spec.containers.all(c, c.name == 1)'), [/applied to '\(string, int\)'/])
  t.strictSame(warnings(pods, "authorizer.requestResource.check('get').allowed()"), [])
})
