import t, { type Test } from 'tap'
import type { Status } from '../../../shared/api/types.ts'
import { type Received, startTestApiServer } from '../../harness/api-server.ts'

const server = await startTestApiServer(t)
const registration = '/apis/admissionregistration.k8s.io/v1'
const core = '/api/v1/namespaces/default'
const message = ({ body }: Received): string => (body as Status).message ?? ''
const post = (path: string, body: object): Promise<Received> => server.send(path, { method: 'POST', body })
const configMap = (name: string, data: object = {}, labels: object = {}) => ({ metadata: { name, labels }, data })
const attempt = (name: string, data: object = {}, labels: object = {}) =>
  post(`${core}/configmaps?dryRun=All`, configMap(name, data, labels))

const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['configmaps'] }
const policy = (name: string, spec: object) => ({
  metadata: { name },
  spec: { matchConstraints: { resourceRules: [rule] }, ...spec },
})
const binding = (policyName: string, spec: object = {}) => ({
  metadata: { name: `${policyName}-binding` },
  spec: { policyName, validationActions: ['Deny'], ...spec },
})

/** In force until the test ends. */
async function bind(t: Test, name: string, spec: object, bindingSpec?: object): Promise<void> {
  const made = [
    await post(`${registration}/validatingadmissionpolicies`, policy(name, spec)),
    await post(`${registration}/validatingadmissionpolicybindings`, binding(name, bindingSpec)),
  ]
  for (const answer of made) if (answer.status !== 201) throw new Error(message(answer))
  t.teardown(async () => {
    await server.send(`${registration}/validatingadmissionpolicies/${name}`, { method: 'DELETE' })
    await server.send(`${registration}/validatingadmissionpolicybindings/${name}-binding`, { method: 'DELETE' })
  })
}
const denied = (name: string, why: string) =>
  `ValidatingAdmissionPolicy '${name}' with binding '${name}-binding' denied request: ${why}`

t.test('what a policy says of a refused request', async (t) => {
  const cases: [name: string, validation: object, code: number, reason: string, why: string][] = [
    ['plain', { expression: 'has(object.data.a)' }, 422, 'Invalid', 'failed expression: has(object.data.a)'],
    ['told', { expression: 'has(object.data.a)', message: 'a is missing' }, 422, 'Invalid', 'a is missing'],
    [
      'composed',
      { expression: 'has(object.data.a)', message: 'x', messageExpression: "'no a in ' + object.metadata.name" },
      422,
      'Invalid',
      'no a in cm',
    ],
    [
      'fallback',
      { expression: 'has(object.data.a)', message: 'x', messageExpression: "object.data.none + 'a'" },
      422,
      'Invalid',
      'x',
    ],
    [
      'forbids',
      { expression: 'has(object.data.a)', reason: 'Forbidden' },
      403,
      'Forbidden',
      'failed expression: has(object.data.a)',
    ],
    [
      'too-large',
      { expression: 'false', reason: 'RequestEntityTooLarge' },
      413,
      'RequestEntityTooLarge',
      'failed expression: false',
    ],
    [
      'fails',
      { expression: "object.data.none == 'x'" },
      422,
      'Invalid',
      "expression 'object.data.none == 'x'' resulted in error: no such key: none",
    ],
  ]
  for (const [name, validation, code, reason, why] of cases) {
    await t.test(name, async (t) => {
      await bind(t, name, { validations: [validation] })
      const refused = await attempt('cm', { b: '1' })
      t.equal(message(refused), `configmaps "cm" is forbidden: ${denied(name, why)}`)
      t.match(refused, {
        status: code,
        body: { reason, details: { name: 'cm', causes: [{ message: denied(name, why) }] } },
      })
    })
  }
})

t.test('variables, the request, its namespace and its past', async (t) => {
  await post('/api/v1/namespaces', { metadata: { name: 'strict', labels: { level: 'high' } } })
  await bind(t, 'vars', {
    variables: [
      { name: 'level', expression: "namespaceObject.metadata.?labels.level.orValue('low')" },
      { name: 'isStrict', expression: "variables.level == 'high'" },
      { name: 'broken', expression: 'object.data.none' },
    ],
    validations: [
      { expression: "!variables.isStrict || request.userInfo.username == 'nobody'", message: 'strict' },
      { expression: 'oldObject == null || oldObject.data.a == object.data.a', message: 'a may not change' },
    ],
  })
  t.equal((await attempt('cm')).status, 201, 'what nobody asks for is not found out')
  t.match(message(await post('/api/v1/namespaces/strict/configmaps', configMap('cm'))), denied('vars', 'strict'))
  await post(`${core}/configmaps`, configMap('kept', { a: '1' }))
  const change = (a: string) =>
    server.send(`${core}/configmaps/kept`, {
      method: 'PATCH',
      body: { data: { a, b: 'x' } },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
  t.equal((await change('1')).status, 200)
  t.match(message(await change('2')), denied('vars', 'a may not change'))
})

t.test('what a binding decides', async (t) => {
  await t.test('warns', async (t) => {
    await bind(
      t,
      'warns',
      { validations: [{ expression: 'false', message: 'hm' }] },
      { validationActions: ['Warn', 'Audit'] },
    )
    const made = await attempt('cm')
    t.match(made, {
      status: 201,
      headers: {
        warning: `299 - "Validation failed for ValidatingAdmissionPolicy 'warns' with binding 'warns-binding': hm"`,
      },
    })
  })
  await t.test('matches', async (t) => {
    const match = { objectSelector: { matchLabels: { team: 'a' } } }
    await bind(t, 'matches', { validations: [{ expression: 'false' }] }, { matchResources: match })
    t.equal((await attempt('cm')).status, 201)
    t.equal((await attempt('cm', {}, { team: 'a' })).status, 422)
  })
  await t.test('params', async (t) => {
    await post(`${core}/configmaps`, configMap('limits', { word: 'please' }))
    const spec = {
      paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
      validations: [{ expression: "object.data.?said.orValue('') == params.data.word" }],
    }
    await bind(t, 'params', spec, {
      paramRef: { name: 'limits', namespace: 'default', parameterNotFoundAction: 'Deny' },
    })
    t.equal((await attempt('cm', { said: 'please' })).status, 201)
    t.equal((await attempt('cm', { said: 'now' })).status, 422)
    await server.send(`${core}/configmaps/limits`, { method: 'DELETE' })
    const why = 'failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction'
    t.match(message(await attempt('cm', { said: 'please' })), denied('params', why))
  })
  await t.test('nobody', async (t) => {
    const made = await post(
      `${registration}/validatingadmissionpolicies`,
      policy('unbound', { validations: [{ expression: 'false' }] }),
    )
    t.equal(made.status, 201)
    t.equal((await attempt('cm')).status, 201, 'a policy alone does nothing')
  })
})

const everything = { apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'] }

t.test('what a policy is about', async (t) => {
  const validations = [{ expression: 'false' }]
  const cases: [name: string, spec: object, refused: string[]][] = [
    ['by-name', { matchConstraints: { resourceRules: [{ ...rule, resourceNames: ['one'] }] } }, ['one']],
    [
      'but',
      { matchConstraints: { resourceRules: [rule], excludeResourceRules: [{ ...rule, resourceNames: ['one'] }] } },
      ['two'],
    ],
    ['conditions', { matchConditions: [{ name: 'two', expression: "object.metadata.name == 'two'" }] }, ['two']],
    ['all', { matchConstraints: { resourceRules: [everything] } }, ['one', 'two']],
    ['ignoring', { failurePolicy: 'Ignore', validations: [{ expression: "object.data.none == 'x'" }] }, []],
  ]
  for (const [name, spec, refused] of cases) {
    await t.test(name, async (t) => {
      await bind(t, name, { validations, ...spec })
      const found: string[] = []
      for (const name of ['one', 'two']) if ((await attempt(name)).status === 422) found.push(name)
      t.same(found, refused)
    })
  }
})

t.test('what is no policy, and no binding', async (t) => {
  const validations = [{ expression: 'true' }]
  const cases: [spec: object, why: string][] = [
    [
      { validations: [{ expression: '1' }] },
      'spec.validations[0].expression: Invalid value: "1": must evaluate to bool but got int',
    ],
    [
      { validations: [{ expression: 'nothing' }] },
      'spec.validations[0].expression: Invalid value: "nothing": compilation failed: ERROR: <input>:1:1: undeclared reference to \'nothing\'',
    ],
    [
      { validations: [{ expression: ' ' }] },
      'spec.validations[0].expression: Required value: expression is not specified',
    ],
    [
      { validations: [{ expression: 'true', reason: 'No' }] },
      'spec.validations[0].reason: Unsupported value: "No": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
    ],
    [
      { validations: [{ expression: 'true', messageExpression: '1' }] },
      'spec.validations[0].messageExpression: Invalid value: "1": must evaluate to string',
    ],
    [
      { validations, variables: [{ name: 'a-b', expression: '1' }] },
      'spec.variables[0].name: Invalid value: "a-b": must be a valid CEL identifier',
    ],
    [
      { validations, matchConditions: [{ name: 'a', expression: '2' }] },
      'spec.matchConditions[0].expression: Invalid value: "2": must evaluate to bool but got int',
    ],
    [
      { validations, matchConstraints: { resourceRules: [{ ...rule, operations: [] }] } },
      'spec.matchConstraints.resourceRules[0].operations: Required value',
    ],
    [
      { validations, failurePolicy: 'x' },
      'spec.failurePolicy: Unsupported value: "x": supported values: "Fail", "Ignore"',
    ],
  ]
  for (const [spec, why] of cases) {
    const refused = await post(`${registration}/validatingadmissionpolicies`, policy('x', spec))
    t.match(message(refused), `ValidatingAdmissionPolicy.admissionregistration.k8s.io "x" is invalid: ${why}`)
  }
  const bindings: [spec: object, why: string][] = [
    [
      { validationActions: ['Deny', 'Warn'] },
      'spec.validationActions: Invalid value: ["Deny","Warn"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
    ],
    [
      { validationActions: ['Shout'] },
      'spec.validationActions[0]: Unsupported value: "Shout": supported values: "Audit", "Deny", "Warn"',
    ],
    [
      { paramRef: { parameterNotFoundAction: 'Deny' } },
      'spec.paramRef: Required value: one of name or selector must be specified',
    ],
  ]
  for (const [spec, why] of bindings) {
    const refused = await post(`${registration}/validatingadmissionpolicybindings`, binding('x', spec))
    t.match(message(refused), why)
  }
})
