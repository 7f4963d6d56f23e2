/** Policies that are in force, each in a namespace of its own, and requests to that namespace. */

export interface Ask {
  method: string
  path: string
  body?: object
  headers?: Record<string, string>
}
export interface Policy {
  /** Is part of the spec of a mutating policy, or of a validating one if it has validations. */
  spec: object
  /** Is part of the binding's spec. */
  binding?: object
  /** Part of matchConstraints. Default: creates and updates of Deployments. */
  rules?: object[]
  match?: object
}
export interface Scenario {
  name: string
  /** Are created before the policies. Paths are within the namespace if they do not begin with a slash. */
  before?: Ask[]
  policies: Policy[]
  asks: Ask[]
}

const deployments = 'apis/apps/v1/deployments'
const configMaps = 'api/v1/configmaps'
const deployment = (more: object = {}, spec: object = {}, pod: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd', ...more },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'd' } },
    template: {
      metadata: { labels: { app: 'd' } },
      spec: { containers: [{ name: 'c', image: 'i', args: ['a'] }], ...pod },
    },
    ...spec,
  },
})
const create = (body: object = deployment(), path = deployments, headers?: Record<string, string>): Ask => ({
  method: 'POST',
  path: `${path}?dryRun=All`,
  body,
  ...(headers && { headers }),
})
const configMap = (data: object = {}, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'cm', ...metadata },
  data,
})
const maps = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['configmaps'] }]
const apply = (expression: string) => ({ patchType: 'ApplyConfiguration', applyConfiguration: { expression } })
const patch = (expression: string) => ({ patchType: 'JSONPatch', jsonPatch: { expression } })
const mutations = (...all: object[]): Policy => ({ spec: { mutations: all } })
/** One policy with one mutation, and one create. */
const one = (name: string, mutation: object, ...asks: Ask[]): Scenario => ({
  name,
  policies: [mutations(mutation)],
  asks: asks.length > 0 ? asks : [create()],
})
const label = (name: string, value: string) => `Object{metadata: Object.metadata{labels: {"${name}": ${value}}}}`
const onMaps = (expression: string, more: object = {}): Policy => ({
  rules: maps,
  spec: { mutations: [apply(expression)], ...more },
})
const spec = (expression: string) => apply(`Object{spec: Object.spec{${expression}}}`)
const template = (expression: string) => spec(`template: Object.spec.template{spec: Object.spec.template.spec{${expression}}}`)

const configurations: Scenario[] = [
  one('annotation', apply('Object{metadata: Object.metadata{annotations: {"a/b": "c"}}}')),
  one('replicas', spec('replicas: 1337')),
  one('expression', spec('replicas: object.spec.replicas * 2')),
  one('nothing', apply('Object{}')),
  one('optional', spec('?replicas: optional.none(), ?paused: optional.of(true)')),
  one('null', spec('replicas: null')),
  one('double', spec('replicas: 2.0')),
  one('half', spec('replicas: 2.5')),
  one('large', spec('replicas: 3000000000')),
  one('unsigned', spec('replicas: 3u')),
  one('text-for-number', spec('replicas: "2"')),
  one('number-for-text', apply('Object{metadata: Object.metadata{labels: {"a": 1}}}')),
  one('number-as-key', apply('Object{metadata: Object.metadata{labels: {1: "a"}}}')),
  one('unknown-field', spec('nothing: 1')),
  one('two-unknown-fields', spec('nothing: 1, more: 2')),
  one('wrong-types-twice', spec('replicas: "a", paused: "b"')),
  one('wrong-name', apply('Object{spec: Object.wrong{replicas: 2}}')),
  one('wrong-name-in-list', template('containers: [Object.spec.template.wrong{name: "c"}]')),
  one('other-kind', apply('Object{kind: "Pod", apiVersion: "v1"}')),
  one('container-by-key', template('containers: [Object.spec.template.spec.containers{name: "c", image: "other"}]')),
  one('new-container', template('containers: [Object.spec.template.spec.containers{name: "d", image: "other"}]')),
  one('first-container', template('initContainers: [Object.spec.template.spec.initContainers{name: "d", image: "other"}]')),
  one('container-as-map', template('containers: [{"name": "c", "image": "other"}]')),
  one('container-without-key', template('containers: [Object.spec.template.spec.containers{image: "other"}]')),
  one('atomic-list', template('containers: [Object.spec.template.spec.containers{name: "c", args: ["b"]}]')),
  one('atomic-map', spec('selector: Object.spec.selector{matchLabels: {"b": "c"}}')),
  one('map-from-object', apply('Object{metadata: Object.metadata{labels: object.spec.template.metadata.labels}}')),
  one('list-from-object', template('containers: object.spec.template.spec.containers')),
  one('object-as-map', apply('Object{metadata: Object.metadata{labels: Object.metadata.labels{a: "b"}}}')),
  one('map-of-objects', apply('Object{metadata: Object.metadata{labels: {"a": Object.metadata.labels{}}}}')),
  one('name', apply('Object{metadata: Object.metadata{name: "other"}}')),
  one('invalid-after', spec('replicas: -1')),
  one('defaults-after', template('volumes: [Object.spec.template.spec.volumes{name: "v", secret: Object.spec.template.spec.volumes.secret{secretName: "s"}}]')),
  one('fails', apply('Object{spec: Object.spec{replicas: object.spec.none}}')),
  one('timestamp', apply('Object{metadata: Object.metadata{labels: {"a": timestamp("2020-01-01T00:00:00Z")}}}')),
  one('type', apply('Object{metadata: Object.metadata{labels: {"a": type(1)}}}')),
]
const remove = (path: string) => patch(`[JSONPatch{op: "remove", path: "${path}"}]`)
const add = (path: string, value: string, op = 'add') => patch(`[JSONPatch{op: "${op}", path: "${path}", value: ${value}}]`)
const patches: Scenario[] = [
  one('patch-replace', add('/spec/replicas', '3', 'replace')),
  one('patch-none', patch('has(object.x) ? [JSONPatch{op: "remove", path: "/x"}] : [JSONPatch{op: "test", path: "/spec/replicas", value: 1}]')),
  one('patch-test-fails', patch('[JSONPatch{op: "test", path: "/spec/replicas", value: 7}, JSONPatch{op: "replace", path: "/spec/replicas", value: 3}]')),
  one('patch-test-holds', patch('[JSONPatch{op: "test", path: "/spec/replicas", value: 1}, JSONPatch{op: "replace", path: "/spec/replicas", value: 3}]')),
  one('patch-label', patch('[JSONPatch{op: "add", path: "/metadata/labels", value: {}}, JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("a/b~c"), value: "x"}]')),
  one('patch-label-without-parent', add('/metadata/labels/a', '"x"')),
  one('patch-object', add('/spec/template/spec/containers/-', 'Object.spec.template.spec.containers{name: "d", image: "e"}')),
  one('patch-object-wrong', add('/spec/template/spec/containers/-', 'Object.spec.template.spec.containers{name: "d", image: Object.spec{}}')),
  one('patch-map', add('/spec/template/spec/containers/-', '{"name": "d", "image": "e"}')),
  one('patch-mixed-map', add('/spec/template/spec/containers/0/ports', '[{"name": dyn("d"), "containerPort": dyn(8)}]')),
  one('patch-atomic', add('/spec/template/spec/containers/0/args', '["b", "c"]')),
  one('patch-copy', patch('[JSONPatch{op: "copy", from: "/spec/replicas", path: "/spec/revisionHistoryLimit"}]')),
  one('patch-move', patch('[JSONPatch{op: "move", from: "/spec/template/spec/containers/0/args", path: "/spec/template/spec/containers/0/command"}]')),
  one('patch-remove', remove('/spec/template/spec/containers/0/args/0')),
  one('patch-remove-absent', remove('/spec/nothing')),
  one('patch-unknown-op', patch('[JSONPatch{op: "odd", path: "/spec/replicas"}]')),
  one('patch-no-op', patch('[JSONPatch{path: "/spec/replicas"}]')),
  one('patch-unknown-field', add('/spec/nothing', '1')),
  one('patch-two-unknown-fields', patch('[JSONPatch{op: "add", path: "/spec/nothing", value: 1}, JSONPatch{op: "add", path: "/metadata/more", value: 1}]')),
  one('patch-wrong-type', add('/spec/replicas', '"x"')),
  one('patch-null', add('/spec/replicas', 'null')),
  one('patch-large', add('/spec/replicas', '9007199254740993')),
  one('patch-bytes', add('/metadata/labels', '{"a": b"abc"}')),
  one('patch-duration', add('/metadata/annotations', '{"a": duration("90s")}')),
  one('patch-time', add('/metadata/annotations', '{"a": timestamp("2020-01-01T00:00:00Z")}')),
  one('patch-number-as-key', add('/metadata/annotations', '{1: "a"}')),
  one('patch-type', add('/metadata/annotations', 'type(1)')),
  one('patch-optional', add('/spec/replicas', 'optional.of(4)')),
  one('patch-optional-none', add('/spec/replicas', 'optional.none()')),
  one('patch-without-value', patch('[JSONPatch{op: "add", path: "/spec/paused"}]')),
  one('patch-kind', add('/kind', '"Pod"', 'replace')),
  one('patch-metadata', remove('/metadata')),
  one('patch-index', add('/spec/template/spec/containers/9', '{"name": "x"}')),
  one('patch-fails', patch('[JSONPatch{op: object.none}]')),
]

const admin = { 'Impersonate-User': 'reader', 'Impersonate-Group': 'system:authenticated' }
const role: Ask[] = [
  {
    method: 'POST',
    path: 'apis/rbac.authorization.k8s.io/v1/roles',
    body: {
      metadata: { name: 'r' },
      rules: [
        { apiGroups: [''], resources: ['configmaps'], verbs: ['create', 'get'] },
        { apiGroups: ['apps'], resources: ['deployments/scale'], resourceNames: ['d'], verbs: ['update'] },
      ],
    },
  },
  {
    method: 'POST',
    path: 'apis/rbac.authorization.k8s.io/v1/rolebindings',
    body: {
      metadata: { name: 'r' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' },
      subjects: [
        { kind: 'User', name: 'reader', apiGroup: 'rbac.authorization.k8s.io' },
        { kind: 'ServiceAccount', name: 'robot', namespace: 'default' },
      ],
    },
  },
]
const asked = (name: string, expression: string, ...asks: Ask[]): Scenario => ({
  name,
  before: role,
  policies: [onMaps(`Object{data: {"answer": string(${expression})}}`)],
  asks: asks.length > 0 ? asks : [create(configMap(), configMaps), create(configMap(), configMaps, admin)],
})
const rights: Scenario[] = [
  asked('may-group', 'authorizer.group("").resource("configmaps").namespace(request.namespace).check("get").allowed()'),
  asked('may-not', 'authorizer.group("").resource("configmaps").check("get").allowed()'),
  asked('may-reason', 'authorizer.group("").resource("configmaps").namespace(request.namespace).check("get").reason()'),
  asked('may-not-reason', 'authorizer.group("").resource("secrets").check("get").reason()'),
  asked('may-errored', 'authorizer.group("").resource("secrets").check("get").errored()'),
  asked('may-error', 'authorizer.group("").resource("secrets").check("get").error()'),
  asked('may-path', 'authorizer.path("/healthz").check("get").allowed()'),
  asked('may-path-not', 'authorizer.path("/metrics").check("get").allowed()'),
  asked('may-path-empty', 'authorizer.path("").check("get").allowed()'),
  asked('may-resource-empty', 'authorizer.group("").resource(" ").check("get").allowed()'),
  asked('may-request', 'authorizer.requestResource.check("create").allowed()'),
  asked('may-request-verb', 'authorizer.requestResource.check("delete").allowed()'),
  asked('may-subresource', 'authorizer.group("apps").resource("deployments").subresource("scale").namespace(request.namespace).name("d").check("update").allowed()'),
  asked('may-other-name', 'authorizer.group("apps").resource("deployments").subresource("scale").namespace(request.namespace).name("e").check("update").allowed()'),
  asked('may-account', 'authorizer.serviceAccount("default", "robot").group("").resource("configmaps").namespace(request.namespace).check("create").allowed()'),
  asked('may-account-reason', 'authorizer.serviceAccount("default", "robot").group("").resource("configmaps").namespace(request.namespace).check("create").reason()'),
  asked('may-account-wrong', 'authorizer.serviceAccount("default", "A_b").group("").resource("configmaps").check("create").allowed()'),
  asked('may-account-namespace', 'authorizer.serviceAccount("A_b", "robot").group("").resource("configmaps").check("create").allowed()'),
  asked('may-selectors', 'authorizer.group("").resource("configmaps").namespace(request.namespace).fieldSelector("metadata.name=a").labelSelector("a=b").check("get").allowed()'),
  asked('may-selectors-wrong', 'authorizer.group("").resource("configmaps").namespace(request.namespace).fieldSelector("!!").labelSelector("((").check("get").allowed()'),
  asked('may-equal', 'authorizer == authorizer'),
  {
    name: 'may-validate',
    before: role,
    policies: [
      {
        rules: maps,
        spec: { validations: [{ expression: 'authorizer.requestResource.check("delete").allowed()', message: 'you may not' }] },
        binding: { validationActions: ['Deny'] },
      },
    ],
    asks: [create(configMap(), configMaps), create(configMap(), configMaps, admin)],
  },
  {
    name: 'may-condition',
    before: role,
    policies: [
      {
        ...onMaps(label('a', '"b"')),
        spec: {
          mutations: [apply(label('a', '"b"'))],
          matchConditions: [{ name: 'a', expression: 'authorizer.group("").resource("secrets").check("get").allowed()' }],
        },
      },
    ],
    asks: [create(configMap(), configMaps), create(configMap(), configMaps, admin)],
  },
]

const params = (name: string, ask: Ask[], binding: object, before: Ask[] = [], more: object = {}): Scenario => ({
  name,
  before,
  policies: [
    {
      rules: [{ ...maps[0], resourceNames: [] }],
      spec: {
        paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
        mutations: [apply('Object{data: {object.data.?key.orValue("k") + params.metadata.name: params.data.value}}')],
        ...more,
      },
      binding,
    },
  ],
  asks: ask,
})
const given = (name: string, value: string): Ask => ({
  method: 'POST',
  path: configMaps,
  body: { metadata: { name, labels: { role: 'param' } }, data: { value } },
})
const makeMap = create(configMap({ a: 'b' }), configMaps)
const paramsScenarios: Scenario[] = [
  params('params', [makeMap], { paramRef: { name: 'one', parameterNotFoundAction: 'Deny' } }, [given('one', '1')]),
  params('params-absent', [makeMap], { paramRef: { name: 'none', parameterNotFoundAction: 'Deny' } }),
  params('params-absent-allowed', [makeMap], { paramRef: { name: 'none', parameterNotFoundAction: 'Allow' } }),
  params(
    'params-selected',
    [makeMap],
    { paramRef: { selector: { matchLabels: { role: 'param' } }, parameterNotFoundAction: 'Deny' } },
    [given('one', '1'), given('two', '2')],
  ),
  params('params-without-ref', [makeMap], {}),
  params('params-of-unknown-kind', [makeMap], { paramRef: { name: 'x', parameterNotFoundAction: 'Deny' } }, [], {
    paramKind: { apiVersion: 'example.com/v1', kind: 'Nothing' },
  }),
  params('params-of-unknown-kind-ignored', [makeMap], { paramRef: { name: 'x', parameterNotFoundAction: 'Deny' } }, [], {
    failurePolicy: 'Ignore',
    paramKind: { apiVersion: 'example.com/v1', kind: 'Nothing' },
  }),
]

const pod = {
  serviceAccountName: 'default',
  automountServiceAccountToken: false,
  containers: [{ name: 'c', image: 'i' }],
}
const account: Ask = { method: 'POST', path: 'api/v1/serviceaccounts', body: { metadata: { name: 'default' } } }
const several: Scenario[] = [
  {
    name: 'order',
    policies: [
      onMaps('Object{data: {"order": object.data.?order.orValue("") + "a"}}'),
      onMaps('Object{data: {"order": object.data.?order.orValue("") + "b"}}'),
      onMaps('Object{data: {"order": object.data.?order.orValue("") + "c"}}'),
    ],
    asks: [makeMap],
  },
  {
    name: 'mutations-in-order',
    policies: [
      {
        rules: maps,
        spec: {
          mutations: [
            apply('Object{data: {"x": object.data.?x.orValue("") + "1"}}'),
            patch('[JSONPatch{op: "add", path: "/data/y", value: object.data.x + "2"}]'),
            apply('Object{data: {"z": object.data.y + "3"}}'),
          ],
        },
      },
    ],
    asks: [makeMap],
  },
  {
    name: 'errors-of-several-mutations',
    policies: [
      {
        rules: maps,
        spec: {
          mutations: [
            apply('Object{data: {"x": object.data.none}}'),
            apply('Object{data: {"y": "set"}}'),
            patch('[JSONPatch{op: "remove", path: "/data/none"}]'),
          ],
        },
      },
    ],
    asks: [makeMap],
  },
  {
    name: 'ignored-errors',
    policies: [
      {
        rules: maps,
        spec: {
          failurePolicy: 'Ignore',
          mutations: [apply('Object{data: {"x": object.data.none}}'), apply('Object{data: {"y": "set"}}')],
        },
      },
    ],
    asks: [makeMap],
  },
  {
    name: 'reinvoked',
    policies: [
      onMaps('Object{data: {"seen": string(object.data.?late.orValue("no")), "first": string(object.data.?first.orValue("")) + "1"}}', {
        reinvocationPolicy: 'IfNeeded',
      }),
      onMaps('Object{data: {"late": "yes", "second": string(object.data.?second.orValue("")) + "1"}}'),
    ],
    asks: [makeMap],
  },
  {
    name: 'not-reinvoked',
    policies: [
      onMaps('Object{data: {"seen": string(object.data.?late.orValue("no")), "first": string(object.data.?first.orValue("")) + "1"}}'),
      onMaps('Object{data: {"late": "yes", "second": string(object.data.?second.orValue("")) + "1"}}', {
        reinvocationPolicy: 'IfNeeded',
      }),
    ],
    asks: [makeMap],
  },
  {
    name: 'conditions',
    policies: [
      onMaps(label('a', '"b"'), { matchConditions: [{ name: 'a', expression: 'object.data.a == "b"' }] }),
      onMaps(label('c', '"d"'), { matchConditions: [{ name: 'a', expression: 'has(object.data.none)' }] }),
    ],
    asks: [makeMap],
  },
  {
    name: 'conditions-fail',
    policies: [
      onMaps(label('a', '"b"'), {
        matchConditions: [
          { name: 'a', expression: 'object.data.none == "b"' },
          { name: 'b', expression: 'object.data.more == "b"' },
        ],
      }),
    ],
    asks: [makeMap],
  },
  {
    name: 'conditions-fail-ignored',
    policies: [
      onMaps(label('a', '"b"'), {
        failurePolicy: 'Ignore',
        matchConditions: [{ name: 'a', expression: 'object.data.none == "b"' }],
      }),
    ],
    asks: [makeMap],
  },
  {
    name: 'condition-of-namespace',
    policies: [onMaps(label('a', '"b"'), { matchConditions: [{ name: 'a', expression: 'namespaceObject.metadata.name != ""' }] })],
    asks: [makeMap],
  },
  {
    name: 'condition-spaces',
    policies: [onMaps(label('a', '"b"'), { matchConditions: [{ name: 'a', expression: ' object.data.none == "b" ' }] })],
    asks: [makeMap],
  },
  {
    name: 'variables',
    policies: [
      onMaps('Object{data: {"n": string(variables.twice), "ns": variables.ns, "has": string(has(variables.n))}}', {
        variables: [
          { name: 'n', expression: 'size(object.data)' },
          { name: 'twice', expression: 'variables.n * 2' },
          { name: 'ns', expression: 'namespaceObject.metadata.name' },
        ],
      }),
    ],
    asks: [makeMap],
  },
  {
    name: 'variable-fails',
    policies: [
      onMaps('Object{data: {"n": variables.twice}}', {
        variables: [
          { name: 'n', expression: 'object.data.none' },
          { name: 'twice', expression: 'variables.n + "2"' },
        ],
      }),
    ],
    asks: [makeMap],
  },
  {
    name: 'variable-of-object',
    policies: [
      onMaps('Object{data: variables.made, metadata: variables.whole.metadata}', {
        variables: [
          { name: 'made', expression: '{"a": "c", "d": "e"}' },
          { name: 'whole', expression: 'object' },
        ],
      }),
    ],
    asks: [makeMap],
  },
  {
    name: 'validated-after',
    policies: [
      onMaps('Object{data: {"x": "set"}}'),
      {
        rules: maps,
        spec: { validations: [{ expression: 'object.data.x != "set"', messageExpression: '"x is " + object.data.x' }] },
        binding: { validationActions: ['Deny'] },
      },
    ],
    asks: [makeMap],
  },
  {
    name: 'expensive',
    policies: [
      onMaps('Object{data: {"x": string([1,2,3,4,5,6,7,8,9,10].map(a, [1,2,3,4,5,6,7,8,9,10].map(b, [1,2,3,4,5,6,7,8,9,10].map(c, [1,2,3,4,5,6,7,8,9,10].map(d, [1,2,3,4,5,6,7,8,9,10].map(e, a+b+c+d+e))))).size())}}'),
    ],
    asks: [makeMap],
  },
  {
    name: 'three-checks-are-too-many',
    policies: [
      onMaps('Object{data: {"x": string(authorizer.path("/a").check("get").allowed() && authorizer.path("/b").check("get").allowed() && authorizer.path("/c").check("get").allowed())}}'),
    ],
    asks: [makeMap],
  },
  {
    name: 'selected-objects',
    policies: [
      { ...onMaps(label('by', '"selector"')), match: { objectSelector: { matchLabels: { want: 'yes' } } } },
      onMaps(label('want', '"yes"')),
    ],
    asks: [makeMap, create(configMap({}, { labels: { want: 'yes' } }), configMaps)],
  },
  {
    name: 'excluded',
    policies: [{ ...onMaps(label('a', '"b"')), match: { excludeResourceRules: [{ ...maps[0], resourceNames: ['cm'] }] } }],
    asks: [makeMap, create(configMap({}, { name: 'other' }), configMaps)],
  },
  {
    name: 'updates',
    before: [{ method: 'POST', path: configMaps, body: configMap({ a: 'b' }, { name: 'kept' }) }],
    policies: [
      {
        rules: [{ ...maps[0], operations: ['UPDATE'] }],
        spec: { mutations: [apply('Object{data: {"was": string(oldObject.data.a), "by": request.operation}}')] },
      },
    ],
    asks: [
      { method: 'PUT', path: `${configMaps}/kept?dryRun=All`, body: configMap({ a: 'c' }, { name: 'kept' }) },
      {
        method: 'PATCH',
        path: `${configMaps}/kept?dryRun=All`,
        body: { data: { a: 'd' } },
        headers: { 'content-type': 'application/merge-patch+json' },
      },
      {
        method: 'PATCH',
        path: `${configMaps}/kept?dryRun=All&fieldManager=me&force=true`,
        body: configMap({ a: 'e' }, { name: 'kept' }),
        headers: { 'content-type': 'application/apply-patch+yaml' },
      },
      create(configMap({ a: 'b' }), configMaps),
    ],
  },
  {
    name: 'scale',
    before: [{ method: 'POST', path: deployments, body: deployment({ name: 'scaled' }) }],
    policies: [
      {
        rules: [{ apiGroups: ['apps'], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['deployments/scale'] }],
        spec: { mutations: [apply('Object{spec: Object.spec{replicas: object.spec.replicas + 1}}')] },
      },
    ],
    asks: [
      {
        method: 'PATCH',
        path: `${deployments}/scaled/scale?dryRun=All`,
        body: { spec: { replicas: 3 } },
        headers: { 'content-type': 'application/merge-patch+json' },
      },
    ],
  },
  {
    name: 'generated-name',
    policies: [onMaps(label('name', 'request.?name.orValue("none") + object.metadata.?name.orValue("none")'))],
    asks: [
      create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'a-' } }, configMaps),
      create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'a-' }, data: { fails: 'x' } }, configMaps),
    ],
  },
  {
    name: 'generated-name-fails',
    policies: [onMaps('Object{data: {"a": object.data.none}}')],
    asks: [create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'a-' } }, configMaps)],
  },
  {
    name: 'pods',
    before: [account],
    policies: [
      {
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
        spec: {
          mutations: [
            apply(
              'Object{spec: Object.spec{initContainers: [Object.spec.initContainers{name: "side", image: "s", restartPolicy: "Always"}], tolerations: [Object.spec.tolerations{key: "a"}]}}',
            ),
          ],
        },
      },
    ],
    asks: [
      create(
        { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: pod },
        'api/v1/pods',
      ),
    ],
  },
  {
    name: 'pod-side',
    before: [account],
    policies: [
      {
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
        spec: {
          mutations: [
            apply(
              'Object{spec: Object.spec{initContainers: [Object.spec.initContainers{name: "side", image: "s", restartPolicy: "Always"}]}}',
            ),
          ],
        },
      },
    ],
    asks: [
      create(
        { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: pod },
        'api/v1/pods',
      ),
    ],
  },
]

export const scenarios: Scenario[] = [...configurations, ...patches, ...rights, ...paramsScenarios, ...several]
