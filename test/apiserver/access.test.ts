import { createPublicKey, verify } from 'node:crypto'
import t, { type Test } from 'tap'
import type { PolicyRule } from '../../apiserver/auth/rbac/policy-rule.ts'
import type { KubeObject, Status } from '../../shared/api/types.ts'
import { type Received, startTestApiServer, type TestApiServer } from '../harness/api-server.ts'

const rbac = '/apis/rbac.authorization.k8s.io/v1'
const inDefault = `${rbac}/namespaces/default`
const core = '/api/v1/namespaces/default'

const message = ({ body }: Received): string => (body as Status).message ?? ''
const as = (name: string, ...groups: string[]): Record<string, string> => ({
  'impersonate-user': name,
  ...(groups.length > 0 && { 'impersonate-group': groups.join(', ') }),
})

type Caller = (
  path: string,
  options?: { method?: string; body?: object; headers?: Record<string, string> },
) => Promise<Received>
const post = (server: TestApiServer, path: string, body: object, headers = {}): Promise<Received> =>
  server.send(path, { method: 'POST', body, headers })

async function role(t: Test, server: TestApiServer, name: string, rules: PolicyRule[], ...subjects: object[]) {
  const made = await post(server, `${inDefault}/roles`, { metadata: { name }, rules })
  t.equal(made.status, 201)
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name }
  const bound = await post(server, `${inDefault}/rolebindings`, { metadata: { name }, roleRef, subjects })
  t.equal(bound.status, 201)
}
const user = (name: string) => ({ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name })

t.test('roles', async (t) => {
  const server = await startTestApiServer(t)
  await role(
    t,
    server,
    'reader',
    [
      { apiGroups: [''], resources: ['pods', 'pods/log', '*/status'], verbs: ['get', 'list'] },
      { apiGroups: [''], resources: ['secrets'], resourceNames: ['mine'], verbs: ['get', 'list'] },
      { apiGroups: ['apps'], resources: ['*'], verbs: ['*'] },
      { apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles', 'rolebindings'], verbs: ['create', 'patch'] },
    ],
    user('jane'),
    { kind: 'ServiceAccount', name: 'default' },
  )
  const jane: Caller = (path, options = {}) => server.send(path, { ...options, headers: as('jane') })

  t.test('allow what they say, and nothing else', async (t) => {
    const table: [status: number, path: string, method?: string][] = [
      [200, `${core}/pods`],
      [404, `${core}/pods/x`],
      [404, `${core}/pods/x/log`],
      [403, `${core}/pods/x/exec`],
      [404, `${core}/replicationcontrollers/x/status`],
      [403, `${core}/pods`, 'DELETE'],
      [403, `${core}/pods?watch=1`],
      [404, `${core}/secrets/mine`],
      [403, `${core}/secrets/other`],
      [403, `${core}/secrets`],
      [200, `${core}/secrets?fieldSelector=metadata.name%3Dmine`],
      [200, '/apis/apps/v1/namespaces/default/deployments'],
      [403, '/apis/batch/v1/namespaces/default/jobs'],
      [403, '/api/v1/pods'],
      [403, '/api/v1/nodes'],
      [200, '/apis/apps/v1'],
      [403, '/metrics'],
    ]
    for (const [status, path, method = 'GET'] of table)
      t.equal((await jane(path, { method })).status, status, `${method} ${path}`)
    const account = await server.send(`${core}/pods`, { headers: as('system:serviceaccount:default:default') })
    t.equal(account.status, 200, 'a subject without a namespace is of the binding’s')
    const elsewhere = await server.send(`${core}/pods`, { headers: as('system:serviceaccount:other:default') })
    t.equal(elsewhere.status, 403)
  })

  t.test('a user cannot grant permissions that it does not hold', async (t) => {
    const wider = {
      metadata: { name: 'wider' },
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'delete', 'watch'] }],
    }
    t.equal(
      message(await jane(`${inDefault}/roles`, { method: 'POST', body: wider })),
      'roles.rbac.authorization.k8s.io "wider" is forbidden: user "jane" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["delete" "watch"]}',
    )
    const held = {
      metadata: { name: 'held' },
      rules: [{ apiGroups: ['', 'apps'], resources: ['pods/status'], verbs: ['get'] }],
    }
    t.equal((await jane(`${inDefault}/roles`, { method: 'POST', body: held })).status, 201)
    const patch = (body: object, type = 'application/merge-patch+json') =>
      server.send(`${inDefault}/roles/held`, {
        method: 'PATCH',
        body,
        headers: { ...as('jane'), 'content-type': type },
      })
    t.equal((await patch({ rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] })).status, 403)
    const admin = { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' } }
    const bind = (name: string, roleRef: object) =>
      jane(`${inDefault}/rolebindings`, {
        method: 'POST',
        body: { metadata: { name }, ...admin, roleRef: { ...admin.roleRef, ...roleRef } },
      })
    t.match(
      message(await bind('a', {})),
      /\{APIGroups:\["\*"\], Resources:\["\*"\], Verbs:\["\*"\]\}\n\{NonResourceURLs/,
    )
    t.equal(message(await bind('b', { name: 'none' })), 'rolebindings.rbac.authorization.k8s.io "none" not found')
    t.equal((await bind('c', { kind: 'Role', name: 'held' })).status, 201)
  })

  t.test('unless they may bind or escalate', async (t) => {
    const verbs: PolicyRule[] = [
      {
        apiGroups: ['rbac.authorization.k8s.io'],
        resources: ['clusterroles'],
        resourceNames: ['view'],
        verbs: ['bind'],
      },
      { apiGroups: ['rbac.authorization.k8s.io'], resources: ['rolebindings', 'roles'], verbs: ['create', 'escalate'] },
    ]
    await role(t, server, 'grantor', verbs, user('grantor'))
    const bind = (name: string) =>
      post(
        server,
        `${inDefault}/rolebindings`,
        { metadata: { name }, roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name } },
        as('grantor'),
      )
    t.equal((await bind('view')).status, 201)
    t.equal((await bind('cluster-admin')).status, 403)
    const any = { metadata: { name: 'any' }, rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] }
    t.equal((await post(server, `${inDefault}/roles`, any, as('grantor'))).status, 201)
  })

  t.test('a binding of an absent role is told of in the refusal', async (t) => {
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'gone' }
    await post(server, `${inDefault}/rolebindings`, { metadata: { name: 'gone' }, roleRef, subjects: [user('joe')] })
    t.match(
      message(await server.send(`${core}/pods`, { headers: as('joe') })),
      /in the namespace "default": RBAC: role\.rbac\.authorization\.k8s\.io "gone" not found$/,
    )
  })

  t.test('reviews answer as the door would', async (t) => {
    const review = async (kind: string, spec: object, headers = {}) => {
      const path = `/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`
      const { body } = await post(server, path, { apiVersion: 'authorization.k8s.io/v1', kind, spec }, headers)
      return body as {
        status: { allowed?: boolean; reason?: string; resourceRules?: object[] } & string
        code?: number
      }
    }
    const pods = (verb: string) => ({ resourceAttributes: { verb, resource: 'pods', namespace: 'default' } })
    t.strictSame((await review('SelfSubjectAccessReview', pods('list'), as('jane'))).status, {
      allowed: true,
      reason: 'RBAC: allowed by RoleBinding "reader/default" of Role "reader" to User "jane"',
    })
    t.strictSame((await review('SelfSubjectAccessReview', pods('delete'), as('jane'))).status, { allowed: false })
    t.strictSame((await review('SelfSubjectAccessReview', pods('delete'))).status, { allowed: true })
    t.equal((await review('SubjectAccessReview', { ...pods('list'), user: 'jane' })).status.allowed, true)
    t.equal((await review('SubjectAccessReview', pods('list'))).code, 422, 'without a subject')
    const rules = await post(server, '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', {
      spec: { namespace: 'default' },
    })
    t.strictSame((rules.body as KubeObject).metadata, {}, 'a new object answers, which nobody owns')
    const { status } = await review('SelfSubjectRulesReview', { namespace: 'default' }, as('jane'))
    t.match(status.resourceRules, [
      { resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'] },
      { resources: ['selfsubjectreviews'] },
      { resources: ['pods', 'pods/log', '*/status'] },
    ])
    const named = { ...pods('list'), resourceAttributes: { ...pods('list').resourceAttributes, namespace: 'other' } }
    const local = await post(server, '/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews', {
      spec: { ...named, user: 'jane' },
    })
    t.match(message(local), 'spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace')
  })
})

t.test('acting as another user', async (t) => {
  const server = await startTestApiServer(t)
  const authentication = 'authentication.k8s.io'
  await role(
    t,
    server,
    'on',
    [{ apiGroups: [''], resources: ['pods'], verbs: ['list', 'impersonate-on:user-info:list'] }],
    user('ops'),
  )
  const clusterRole = (name: string, rules: PolicyRule[]) =>
    post(server, `${rbac}/clusterroles`, { metadata: { name }, rules })
  const bind = (name: string, subject: string) =>
    post(server, `${rbac}/clusterrolebindings`, {
      metadata: { name: subject },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [user(subject)],
    })
  await clusterRole('narrow', [
    { apiGroups: [authentication], resources: ['users'], resourceNames: ['bob'], verbs: ['impersonate:user-info'] },
  ])
  await clusterRole('wide', [{ apiGroups: [''], resources: ['users', 'groups'], verbs: ['impersonate'] }])
  await bind('narrow', 'ops')
  await bind('wide', 'boss')
  const tokenOf = async (name: string): Promise<Record<string, string>> => {
    await post(server, `${core}/serviceaccounts`, { metadata: { name } })
    const { body } = await post(server, `${core}/serviceaccounts/${name}/token`, {})
    return { authorization: `Bearer ${(body as { status: { token: string } }).status.token}` }
  }
  const ask = async (asker: string, headers: Record<string, string>, path = `${core}/pods`): Promise<Received> => {
    const account = await tokenOf(asker)
    const subjects = [{ kind: 'ServiceAccount', name: asker, namespace: 'default' }]
    const patch = { headers: { 'content-type': 'application/merge-patch+json' }, method: 'PATCH', body: { subjects } }
    if (asker === 'ops') await server.send(`${inDefault}/rolebindings/on`, patch)
    await server.send(`${rbac}/clusterrolebindings/${asker}`, patch)
    return server.send(path, { anonymous: true, headers: { ...account, ...headers } })
  }
  t.match(
    message(await ask('ops', as('bob'))),
    /^pods is forbidden: User "bob" cannot list/,
    'it is bob who is refused',
  )
  t.match(
    message(await ask('ops', as('eve'))),
    'cannot impersonate:user-info resource "users" in API group "authentication.k8s.io"',
  )
  t.match(
    message(await ask('ops', as('bob'), `${core}/secrets`)),
    'cannot impersonate-on:user-info:list resource "secrets"',
  )
  t.match(message(await ask('boss', as('eve'))), /User "eve" cannot list/, 'by the older verb')
  const account = message(await ask('boss', as('system:serviceaccount:a:b')))
  t.match(account, 'cannot impersonate resource "serviceaccounts"', 'the way that was allowed before is asked first')
  t.equal((await ask('boss', as('eve', 'system:masters'))).status, 200)
  t.match(
    message(await server.send(`${core}/pods`, { headers: { 'impersonate-group': 'g' } })),
    'without impersonating a user name',
  )
})

t.test('tokens of service accounts', async (t) => {
  const server = await startTestApiServer(t)
  interface TokenAnswer {
    spec: { audiences: string[]; expirationSeconds: number }
    status: { token: string; expirationTimestamp: string }
  }
  const request = async (spec: object, name = 'default') =>
    (await post(server, `${core}/serviceaccounts/${name}/token`, { spec })).body as TokenAnswer & Status
  const whoAmI = async (token: string) =>
    server.send('/apis/authentication.k8s.io/v1/selfsubjectreviews', {
      method: 'POST',
      body: {},
      anonymous: true,
      headers: { authorization: `Bearer ${token}` },
    })
  const review = async (token: string, audiences?: string[]) =>
    (
      (await post(server, '/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token, audiences } })).body as {
        status: object
      }
    ).status

  t.test('name their user, and any client can verify them', async (t) => {
    const { status, spec } = await request({})
    t.equal(spec.expirationSeconds, 3600)
    t.match((await whoAmI(status.token)).body, {
      status: {
        userInfo: {
          username: 'system:serviceaccount:default:default',
          groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
        },
      },
    })
    const configuration = (await server.send('/.well-known/openid-configuration')).body as {
      issuer: string
      jwks_uri: string
    }
    t.equal(configuration.issuer, spec.audiences[0])
    const keys = await server.send(new URL(configuration.jwks_uri).pathname, { headers: { accept: '*/*' } })
    t.equal(keys.headers['content-type'], 'application/jwk-set+json')
    const [key] = (keys.body as { keys: [Record<string, string>] }).keys
    const [header = '', claims = '', signature = ''] = status.token.split('.')
    t.match(JSON.parse(Buffer.from(header, 'base64url').toString()), { alg: 'RS256', kid: key?.kid })
    t.ok(
      verify(
        'sha256',
        Buffer.from(`${header}.${claims}`),
        createPublicKey({ key: key ?? {}, format: 'jwk' }),
        Buffer.from(signature, 'base64url'),
      ),
    )
    const forged = `${header}.${Buffer.from(JSON.stringify({ ...JSON.parse(Buffer.from(claims, 'base64url').toString()), sub: 'system:serviceaccount:kube-system:root' })).toString('base64url')}.${signature}`
    t.equal((await whoAmI(forged)).status, 401)
    t.equal(
      (await server.send('/healthz', { anonymous: true, headers: { authorization: 'Bearer x.y.z' } })).status,
      401,
    )
  })

  t.test('are for an audience', async (t) => {
    const { status } = await request({ audiences: ['vault'] })
    t.equal((await whoAmI(status.token)).status, 401)
    t.match(await review(status.token, ['vault', 'other']), { authenticated: true, audiences: ['vault'] })
    t.match(await review(status.token), { user: {}, error: /invalid for the target audiences/ })
    t.strictSame(await review('nonsense'), { user: {}, error: 'invalid bearer token' })
  })

  t.test('die with what they are bound to', async (t) => {
    await post(server, `${core}/secrets`, { metadata: { name: 's' } })
    const boundObjectRef = { kind: 'Secret', apiVersion: 'v1', name: 's' }
    const { status } = await request({ boundObjectRef })
    t.equal((await whoAmI(status.token)).status, 201)
    await server.send(`${core}/secrets/s`, { method: 'DELETE' })
    t.equal((await whoAmI(status.token)).status, 401)
    t.match(await review(status.token), { error: '[invalid bearer token, service account token has been invalidated]' })
    await post(server, `${core}/serviceaccounts`, { metadata: { name: 'short' } })
    const other = await request({}, 'short')
    await server.send(`${core}/serviceaccounts/short`, { method: 'DELETE' })
    t.equal((await whoAmI(other.status.token)).status, 401)
    t.match(message({ body: await request({ boundObjectRef }) } as Received), 'secrets "s" not found')
  })

  t.test('of a pod tell of the pod and its node, and outlive what was asked for', async (t) => {
    const spec = { nodeName: 'n1', automountServiceAccountToken: false, containers: [{ name: 'c', image: 'i' }] }
    await post(server, `${core}/pods`, { metadata: { name: 'p' }, spec })
    const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: 'p' }
    const { status } = await request({ boundObjectRef, expirationSeconds: 3607 })
    const claims = JSON.parse(Buffer.from(status.token.split('.')[1] ?? '', 'base64url').toString())
    t.equal(claims.exp - claims.iat, 365 * 24 * 3600)
    t.equal(claims['kubernetes.io'].warnafter - claims.iat, 3607)
    t.match((await whoAmI(status.token)).body, {
      status: {
        userInfo: {
          extra: { 'authentication.kubernetes.io/pod-name': ['p'], 'authentication.kubernetes.io/node-name': ['n1'] },
        },
      },
    })
    await post(server, `${core}/serviceaccounts`, { metadata: { name: 'else' } })
    t.match(await request({ boundObjectRef }, 'else'), { code: 400, message: /different serviceaccount name/ })
  })
})
