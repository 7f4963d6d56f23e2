/** Each row of the table of what clients may not do, in docs/security.md, is tried on a cluster as a user starts it. */
import { spawn } from 'node:child_process'
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { repository, startCommand } from '../harness/cluster.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'
import type { Asker, Question } from './security/ask.ts'
import { issued, signingRequest, type Wanted } from './security/certificates.ts'
import { everyObjectRequest, instrumentRequests, kubeletRequests } from './security/everything.ts'
import { type Client, core, merge, post, startStage } from './security/stage.ts'

const stage = await startStage(t)
const { admin, credentials, stateDir, nodeName } = stage
const everyObject = await everyObjectRequest(admin)
const ask = Object.fromEntries(
  Object.entries(credentials).map(([name, who]) => [name, stage.apiServer(who)]),
) as Record<Client, Asker>

type Attempt = (t: Test, client: Asker) => Promise<void>

const shown = ({ method = 'GET', path }: Question): string => `${method} ${path}`

/** All are refused; one assertion for all, since they are thousands. */
function refused(questions: Question[] | (() => Question[]), codes = [401, 403]): Attempt {
  return async (t, client) => {
    const asked = typeof questions === 'function' ? questions() : questions
    const statuses = await Promise.all(asked.map((question) => client.status(question)))
    const passed = asked.flatMap((question, i) =>
      codes.includes(statuses[i] ?? 0) ? [] : [`${shown(question)}: ${statuses[i]}`],
    )
    t.same(passed, [], `${asked.length} requests`)
  }
}

const objects = refused(everyObject)
const instruments = refused(instrumentRequests)
const configuration = refused(
  ['/metrics', '/configz', '/flagz', '/statusz', '/debug/pprof/', '/logs'].map((path) => ({ path })),
)
const kubeletOf = (client: Client): Attempt => {
  return (t) => refused(kubeletRequests)(t, stage.kubelet(credentials[client]))
}
const actAs = refused([
  { path: `${core}/secrets`, headers: { 'impersonate-user': 'admin', 'impersonate-group': 'system:masters' } },
  { path: `${core}/secrets`, headers: { 'impersonate-user': 'system:serviceaccount:kube-system:default' } },
  {
    path: `${core}/pods`,
    headers: { 'impersonate-user': `system:node:${nodeName}`, 'impersonate-group': 'system:nodes' },
  },
  { path: `${core}/pods`, headers: { 'impersonate-user': 'x', 'impersonate-extra-scopes': 'all' } },
  { path: `${core}/pods`, headers: { 'impersonate-user': 'x', 'impersonate-uid': '0' } },
])

/** None of these gets a certificate, though one that is asked for after them does. */
const notCertified =
  (prefix: string, wanted: Wanted[], last: (name: string) => Promise<void>): Attempt =>
  async (t, client) => {
    for (const [i, each] of wanted.entries()) {
      const status = await client.status(signingRequest(`${prefix}-${i}`, each))
      t.ok([201, 400, 403].includes(status), `${status} for ${JSON.stringify(each)}`)
    }
    await last(`${prefix}-last`)
    const names = await issued(admin, `${prefix}-last`)
    t.same(
      names.filter((name) => name.startsWith(prefix)),
      [`${prefix}-last`],
    )
  }
const nodes = ['system:nodes']
const foreignCertificates: Wanted[] = [
  { commonName: 'admin', organizations: ['system:masters'], signer: 'kube-apiserver-client' },
  { commonName: 'admin', organizations: ['system:masters'], signer: 'kube-apiserver-client-kubelet' },
  { commonName: 'someone', signer: 'kube-apiserver-client' },
  { commonName: 'someone', organizations: nodes, signer: 'kube-apiserver-client-kubelet' },
  { commonName: `system:node:${nodeName}`, organizations: ['system:masters'], signer: 'kube-apiserver-client-kubelet' },
  {
    commonName: `system:node:${nodeName}`,
    organizations: [...nodes, 'system:masters'],
    signer: 'kube-apiserver-client-kubelet',
  },
  {
    commonName: `system:node:${nodeName}`,
    organizations: nodes,
    altNames: ['kubernetes.default.svc'],
    signer: 'kubelet-serving',
  },
]

const base64 = (value: object | string): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
/** A token that says what a pod's says, with the signature of somebody else. */
function forgedTokens(): Record<string, string> {
  const [head = '', body = '', signature = ''] = (credentials.pod.token ?? '').split('.')
  const header = JSON.parse(Buffer.from(head, 'base64url').toString()) as { alg: string; kid: string }
  const publicKey = readFileSync(join(stateDir, 'pki/sa.pub'), 'utf8')
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as object
  const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const byHmac = `${base64({ ...header, alg: 'HS256' })}.${body}`
  const changed = base64({ ...claims, sub: 'system:serviceaccount:kube-system:generic-garbage-collector' })
  return {
    'without a signature': `${base64({ ...header, alg: 'none' })}.${body}.`,
    'whose signature is cut off': `${head}.${body}.`,
    'with the public key as a secret': `${byHmac}.${createHmac('sha256', publicKey).update(byHmac).digest('base64url')}`,
    'of another cluster': `${head}.${body}.${sign('sha256', Buffer.from(`${head}.${body}`), other).toString('base64url')}`,
    'with other claims': `${head}.${changed}.${signature}`,
    'of nothing': 'x',
    'of an absent bootstrap token': 'fedcba.0123456789abcdef',
    'of a bootstrap token with another secret': 'abcdef.0123456789abcdee',
  }
}

const anonymous: Record<string, Attempt> = {
  'read, create, change or delete any object, or a subresource of one': objects,
  "read metrics, configuration, the API's documents or the list of its kinds": (t, client) =>
    refused(
      [
        '/metrics',
        '/flagz',
        '/statusz',
        '/openapi/v2',
        '/openapi/v3',
        '/openapi/v3/api/v1',
        '/api',
        '/api/v1',
        '/apis',
        '/apis/apps/v1',
        '/openid/v1/jwks',
        '/',
      ].map((path) => ({ path })),
    )(t, client),
  'use the journal, faults, snapshots or the clock': instruments,
  'get anything but a refusal from a kubelet': kubeletOf('anonymous client'),
  'pass with a token of another cluster, with a broken one, or with an unsigned one': async (t) => {
    for (const [title, token] of Object.entries(forgedTokens()))
      t.equal(await stage.apiServer({ token }).status({ path: '/api' }), 401, `a token ${title}`)
    for (const [title, token] of Object.entries(forgedTokens()))
      t.equal(await stage.kubelet({ token }).status({ path: '/pods' }), 401, `a token ${title}, at the kubelet`)
  },
  'name itself in a header': refused(
    ['x-remote-user', 'x-forwarded-user', 'impersonate-user', 'x-client-cert', 'cookie'].flatMap((header) => [
      { path: `${core}/secrets`, headers: { [header]: 'admin', 'x-remote-group': 'system:masters' } },
      { path: '/metrics', headers: { [header]: 'admin', 'x-remote-group': 'system:masters' } },
    ]),
  ),
}

const withoutRole: Record<string, Attempt> = {
  'read, create, change or delete any object, or a subresource of one': objects,
  'act as another user': actAs,
  'read metrics or configuration': configuration,
  'use the journal, faults, snapshots or the clock': instruments,
  'get anything but a refusal from a kubelet': kubeletOf('user without a role'),
}

/** In a shell of a pod: each prints `got out` if it succeeds. */
const inPod =
  (scripts: Record<string, string>): Attempt =>
  async (t) => {
    if (stage.files !== 'own') return skipOrFail(t, 'this machine lets us mount nothing')
    for (const [title, script] of Object.entries(scripts)) t.equal(await stage.inPod('web', script), '', title)
  }

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

const serverPid = (): number => stage.process.child.pid ?? 0

const pod: Record<string, Attempt> = {
  'read, create, change or delete any object, or a subresource of one': objects,
  'act as another user': actAs,
  'use its token when it is gone': async (t) => {
    await stage.startPod('brief')
    const token = (await stage.inPod('brief', 'cat /var/run/secrets/kubernetes.io/serviceaccount/token')).trim()
    const client = stage.apiServer({ token })
    t.equal(await client.status({ path: '/api' }), 200, 'while it runs')
    await admin.ask({ method: 'DELETE', path: `${core}/pods/brief?gracePeriodSeconds=0` })
    t.equal(await client.status({ path: '/api' }), 401)
    t.equal(await stage.kubelet({ token }).status({ path: '/pods' }), 401, 'at the kubelet')
  },
  'get anything but a refusal from a kubelet': kubeletOf('pod'),
  'read the keys and the files of the cluster': (t, client) =>
    inPod({
      'the state folder': filesBelow(stateDir)
        .map((file) => `cat '${file}'`)
        .join('\n'),
    })(t, client),
  "change the machine's root file system": async (t, client) => {
    const folders = ['', '/etc', '/tmp', '/usr/local/bin', '/root'].filter((folder) => existsSync(folder || '/'))
    await inPod({ 'write where it can': folders.map((folder) => `echo x >${folder}/kubestage-was-here`).join('; ') })(
      t,
      client,
    )
    for (const folder of folders) t.notOk(existsSync(`${folder}/kubestage-was-here`), `${folder}/`)
  },
  "see or signal the machine's processes": (t, client) =>
    inPod({
      'signal the server': `kill -0 ${serverPid()} && echo got out`,
      'see its environment': `cat /proc/${serverPid()}/environ && echo got out`,
      'see the kubelet': 'grep -l "kubelet[/]main" /proc/[0-9]*/cmdline',
      'see the machine behind process 1': `test $(stat -c %d /proc/1/root/) = ${statSync('/').dev} && echo got out`,
    })(t, client),
  "change the machine's settings, mounts or devices": inPod({
    mounts: 'umount /dev && echo got out; mount -t tmpfs none /mnt && echo got out',
    namespaces: 'unshare --mount true && echo got out; nsenter --target 1 --mount true && echo got out',
    devices: 'mknod /tmp/disk b 254 0 && echo got out',
    settings: 'echo x >/proc/sys/kernel/core_pattern && echo got out; hostname other && echo got out',
    'control groups': 'for file in $(find /sys/fs/cgroup -name cgroup.procs); do echo 1 >$file && echo got out; done',
  }),
  'leave a process behind': async (t) => {
    const seconds = `98765.${process.pid}`
    await stage.startPod('leaving', [
      'sh',
      '-c',
      `(setsid sh -c '(exec env -i sleep ${seconds}) & exit' &) ; sleep 1000`,
    ])
    const left = () =>
      readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && commandOf(pid).includes(`sleep ${seconds}`))
    await until(() => left().length > 0, { what: 'the process that would stay' })
    await admin.ask({ method: 'DELETE', path: `${core}/pods/leaving?gracePeriodSeconds=1` })
    await until(async () => (await admin.status({ path: `${core}/pods/leaving` })) === 404, {
      what: 'the end of its pod',
    })
    t.same(left(), [])
  },
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}

const owner = async (): Promise<object> => {
  await ask.node.ask(post('/api/v1/nodes', { metadata: { name: 'other' } }))
  const { metadata } = JSON.parse((await admin.ask({ path: '/api/v1/nodes/other' })).body) as {
    metadata: { uid: string }
  }
  return { apiVersion: 'v1', kind: 'Node', name: 'other', uid: metadata.uid, controller: true }
}
const container = { name: 'c', image: 'busybox' }
const mirror = async (spec: object): Promise<Question> =>
  post(`${core}/pods`, {
    metadata: { name: 'mirror', annotations: { 'kubernetes.io/config.mirror': 'x' }, ownerReferences: [await owner()] },
    spec: { nodeName: 'other', containers: [container], automountServiceAccountToken: false, ...spec },
  })

const node: Record<string, Attempt> = {
  'read a Secret, a ConfigMap or a claim that none of its pods names': refused(
    ['secrets/some', 'configmaps/some', 'persistentvolumeclaims/some'].map((path) => ({ path: `${core}/${path}` })),
  ),
  'list or watch the Secrets of a namespace': refused([
    ...['', '?watch=true', '?fieldSelector=metadata.name%3Dsome'].map((query) => ({ path: `${core}/secrets${query}` })),
    { path: '/api/v1/secrets' },
    { path: '/api/v1/configmaps' },
  ]),
  'change another node, its lease, or its pods': refused([
    merge(`/api/v1/nodes/${nodeName}`, { metadata: { labels: { a: 'b' } } }),
    merge(`/api/v1/nodes/${nodeName}/status`, { status: { phase: 'x' } }),
    { method: 'DELETE', path: `/api/v1/nodes/${nodeName}` },
    merge(`/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${nodeName}`, {
      spec: { holderIdentity: 'x' },
    }),
    { method: 'DELETE', path: `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${nodeName}` },
    merge(`${core}/pods/web/status`, { status: { phase: 'Failed' } }),
    merge(`${core}/pods/web`, { metadata: { labels: { a: 'b' } } }),
    { method: 'DELETE', path: `${core}/pods/web` },
    { method: 'DELETE', path: `${core}/pods` },
    post(`${core}/pods/web/eviction`, { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'web' } }),
    post(`${core}/pods/web/binding`, { target: { kind: 'Node', name: 'other' } }),
  ]),
  'create a pod, but a mirror pod that names nothing of the API': async (t, client) => {
    t.equal(await client.status(await mirror({})), 201, 'a mirror pod')
    const named = [
      { serviceAccountName: 'default' },
      { volumes: [{ name: 'v', secret: { secretName: 'some' } }] },
      { volumes: [{ name: 'v', configMap: { name: 'some' } }] },
      { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'some' } }] },
      { imagePullSecrets: [{ name: 'some' }] },
      { containers: [{ ...container, envFrom: [{ secretRef: { name: 'some' } }] }] },
      { initContainers: [{ ...container, name: 'i', envFrom: [{ secretRef: { name: 'some' } }] }] },
      { nodeName },
    ]
    for (const spec of named) t.equal(await client.status(await mirror(spec)), 403, JSON.stringify(spec))
    const plain = { metadata: { name: 'plain' }, spec: { nodeName: 'other', containers: [container] } }
    t.equal(await client.status(post(`${core}/pods`, plain)), 403, 'a pod that is no mirror pod')
  },
  'create a token of a service account that none of its pods has': refused([
    post(`${core}/serviceaccounts/default/token`, { spec: { audiences: ['https://kubernetes.default.svc'] } }),
    post('/api/v1/namespaces/kube-system/serviceaccounts/default/token', { spec: {} }),
    post(`${core}/serviceaccounts/default/token`, {
      spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'x' } },
    }),
  ]),
  'get a certificate for another name': (t, client) =>
    notCertified(
      'node',
      [
        ...foreignCertificates,
        { commonName: `system:node:${nodeName}`, organizations: nodes, signer: 'kube-apiserver-client-kubelet' },
        {
          commonName: 'system:node:other',
          organizations: nodes,
          altNames: ['kubernetes.default.svc'],
          signer: 'kubelet-serving',
        },
        { commonName: 'system:node:other', organizations: nodes, altNames: [nodeName], signer: 'kubelet-serving' },
        { commonName: 'system:node:other', organizations: nodes, altNames: ['192.0.2.1'], signer: 'kubelet-serving' },
      ],
      async (name) => {
        const own: Wanted = {
          commonName: 'system:node:other',
          organizations: nodes,
          signer: 'kube-apiserver-client-kubelet',
        }
        t.equal(await client.status(signingRequest(name, own)), 201)
      },
    )(t, client),
  'give itself a label that keeps workloads apart': async (t, client) => {
    await owner()
    await refused(
      [
        'node-restriction.kubernetes.io/tenant',
        'team.node-restriction.kubernetes.io/a',
        'node-role.kubernetes.io/master',
      ].map((label) => merge('/api/v1/nodes/other', { metadata: { labels: { [label]: 'x' } } })),
    )(t, client)
  },
  'act as another user': actAs,
  'use the journal, faults, snapshots or the clock': instruments,
}

const requestsOfOthers = (path: string): boolean => path.includes('/certificatesigningrequests')
const bootstrap: Record<string, Attempt> = {
  'read, create, change or delete any object but a request for a certificate': refused(() =>
    everyObject.filter(({ path }) => !requestsOfOthers(path)),
  ),
  'get a certificate for anything but a node': (t, client) =>
    notCertified('token', foreignCertificates, async (name) => {
      const joining: Wanted = {
        commonName: 'system:node:joining',
        organizations: nodes,
        signer: 'kube-apiserver-client-kubelet',
      }
      t.equal(await client.status(signingRequest(name, joining)), 201)
    })(t, client),
}

const nobody = 65_534
const otherUser: Record<string, Attempt> = {
  'read a file of the state folder': async (t) => {
    if (process.getuid?.() !== 0) return skipOrFail(t, 'only root can be another user')
    const files = filesBelow(stateDir)
    t.ok(files.length > 15, `${files.length} files`)
    const child = spawn('sh', ['-c', 'cat "$@" /etc/hostname', 'sh', ...files], { uid: nobody, gid: nobody })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    await new Promise((resolve) => child.on('close', resolve))
    t.equal(output, readFileSync('/etc/hostname', 'utf8'), 'only what is for everyone')
  },
  'have its own folder taken for the state folder': async (t) => {
    if (process.getuid?.() !== 0) return skipOrFail(t, 'only root can be another user')
    const folder = mkdtempSync(join(tmpdir(), 'kubestage-planted-'))
    t.teardown(() => rmSync(folder, { recursive: true }))
    chownSync(folder, nobody, nobody)
    const command = startCommand(t, ['up', '--port=0', `--state-dir=${folder}`])
    t.not(await command.ended, 0)
    t.match(command.output(), /belongs to user 65534/)
    t.same(readdirSync(folder), [], 'no key was written there')
  },
}

const evil = { origin: 'https://evil.example' }
const webPage: Record<string, Attempt> = {
  'read an answer, where its origin is not allowed': async (t) => {
    for (const method of ['GET', 'OPTIONS', 'POST']) {
      const headers = {
        ...evil,
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'authorization',
      }
      const answer = await admin.ask({ method, path: `${core}/secrets`, headers })
      const names = Object.keys(answer.headers).filter((name) => name.startsWith('access-control-'))
      t.same(names, [], method)
    }
  },
  'be let in by what the browser holds': async (t) => {
    for (const path of ['/', '/version', '/api', `${core}/pods`, '/healthz']) {
      const { headers } = await admin.ask({ path })
      t.equal(headers['set-cookie'], undefined, `${path}: no cookie`)
      const anonymousAnswer = await ask['anonymous client'].ask({ path })
      t.notMatch(
        String(anonymousAnswer.headers['www-authenticate'] ?? ''),
        /basic|negotiate|digest/i,
        `${path}: no log-in`,
      )
    }
    const rebound = { host: 'evil.example', ...evil, cookie: 'a=b' }
    await refused([
      { path: `${core}/secrets`, headers: rebound },
      {
        path: `${core}/pods?watch=true`,
        headers: {
          ...rebound,
          connection: 'Upgrade',
          upgrade: 'websocket',
          'sec-websocket-version': '13',
          'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        },
      },
    ])(t, ask['anonymous client'])
  },
}

const attempts: Record<string, Record<string, Attempt>> = {
  'anonymous client': anonymous,
  'user without a role': withoutRole,
  pod,
  node,
  'bootstrap token': bootstrap,
  'another user of the machine': otherUser,
  'web page': webPage,
}

t.test('the page and the attempts name the same', async (t) => {
  const page = readFileSync(join(repository, 'docs/security.md'), 'utf8')
  const [, table = ''] = page.split('| client | may not |\n|---|---|\n')
  const rows = table
    .slice(0, table.indexOf('\n\n'))
    .split('\n')
    .map((row) => row.slice(2, -2))
  const tried = Object.entries(attempts).flatMap(([client, each]) =>
    Object.keys(each).map((what) => `${client} | ${what}`),
  )
  t.same(tried, rows)
})

for (const [client, each] of Object.entries(attempts))
  for (const [what, attempt] of Object.entries(each))
    t.test(`${client} may not ${what}`, (t) => attempt(t, ask[client as Client]))
