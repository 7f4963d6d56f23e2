/** `--network pod` for a user who is not root: Services carry traffic, policies hold, the API server reaches pods. */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { whyNoNetworks } from '../../kubelet/runtime/process/network/door.ts'
import { firstFreePort } from '../../kubelet/runtime/process/network/port-refused.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import { issueCertificate } from '../../shared/pki/certificate.ts'
import { cli, startProgram } from '../harness/cluster.ts'
import { findKubectls } from '../harness/kubectl.ts'
import { ownPodRange } from '../harness/own-pod-range.ts'
import { podOf } from '../harness/pods.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'
import { testAuthority } from '../harness/webhook-server.ts'

const server = `require('http').createServer((request, response) => response.end('ok')).listen(80)`
const hour = 3_600_000
const authority = testAuthority()
const { cert, key } = issueCertificate(
  {
    commonName: 'hook',
    altNames: ['hook.default.svc'],
    usage: 'server',
    notBefore: toTime(realClock.now() - hour),
    notAfter: toTime(realClock.now() + hour),
  },
  authority,
)
/** Answers each review with a refusal, and each question of an API with its own words. */
const refuses = `require('https').createServer(${JSON.stringify({ cert, key })}, (request, response) => {
  let text = ''
  request.on('data', (part) => { text += part }).on('end', () => {
    const { request: { uid } } = text ? JSON.parse(text) : { request: {} }
    const answer = { uid, allowed: false, status: { message: 'a pod refuses' } }
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: answer, url: request.url }))
  })
}).listen(443)`
const hooks = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'hook' },
  webhooks: [
    {
      name: 'hook.example.io',
      clientConfig: {
        service: { namespace: 'default', name: 'hook' },
        caBundle: Buffer.from(authority.cert).toString('base64'),
      },
      rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
    },
  ],
}
const group = {
  apiVersion: 'apiregistration.k8s.io/v1',
  kind: 'APIService',
  metadata: { name: 'v1.example.io' },
  spec: {
    group: 'example.io',
    version: 'v1',
    service: { namespace: 'default', name: 'hook' },
    insecureSkipTLSVerify: true,
    groupPriorityMinimum: 1000,
    versionPriority: 10,
  },
}
const ask = `require('http').get('http://web:8080', (answer) => { console.log(answer.statusCode); process.exit() }).on('error', ({ code }) => console.log(code)).setTimeout(1500, () => { console.log('timeout'); process.exit() })`
/** Each node has 256 of them. */
const range = ownPodRange.replace(/\d+\.0\/24$/, (end) => `${Number.parseInt(end, 10) & ~1}.0/23`)
const service = (name: string, app: string, port = 8080, targetPort = 80) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { selector: { app }, ports: [{ port, targetPort }] },
})
const pod = (name: string, command: string[]) => {
  const { metadata, spec } = podOf({ name, command })
  return { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, labels: { app: name } }, spec }
}

t.test('an ordinary user', async (t) => {
  if (process.getuid?.() !== 0) return skipOrFail(t, 'only root can be another user')
  const why = await whyNoNetworks()
  if (why) return skipOrFail(t, `this machine gives pods no networks: ${why}`)
  const [kubectl] = findKubectls()
  if (!kubectl) return skipOrFail(t, 'no kubectl')
  for (const tool of ['nft', 'setpriv'])
    if (spawnSync(tool, ['--version']).status !== 0) return skipOrFail(t, `no ${tool}`)
  const folder = scratchFolder(t, 'ordinary')
  chmodSync(folder, 0o777)
  const nobody = ['--reuid=65534', '--regid=65534', '--clear-groups', process.execPath, cli]
  const flags = [
    '--port=0',
    '--nodes=2',
    '--network=pod',
    `--cluster-cidr=${range}`,
    `--state-dir=${join(folder, 'state')}`,
  ]
  const variables = { TMPDIR: folder, HOME: folder }
  const cluster = startProgram(t, [...nobody, 'up', ...flags], { node: 'setpriv', cwd: '/', variables })
  try {
    await cluster.printed('is ready')
  } catch (error) {
    if (/EACCES|permission denied/i.test(cluster.output())) return skipOrFail(t, 'nobody may read our files here')
    throw error
  }
  const kubeconfig = `--kubeconfig=${join(folder, 'state', 'kubeconfig')}`
  const run = (args: string[], input?: object): string =>
    execFileSync(kubectl.file, [kubeconfig, ...args], {
      encoding: 'utf8',
      timeout: 90_000,
      input: JSON.stringify(input),
    }).trim()
  const onNode = (nodeName: string, made: ReturnType<typeof pod>) => ({ ...made, spec: { ...made.spec, nodeName } })
  const items = [
    onNode('node-1', pod('web', [process.execPath, '-e', server])),
    onNode('node-2', pod('client', ['sleep', '1000'])),
    service('web', 'web'),
    onNode('node-2', pod('hook', [process.execPath, '-e', refuses])),
    service('hook', 'hook', 443, 443),
    service('nobody', 'none'),
  ]
  run(['apply', '-f', '-'], { apiVersion: 'v1', kind: 'List', items })
  run(['wait', '--for=condition=Ready', 'pod', '--all', '--timeout=60s'])
  const asked = (code = ask): string => run(['exec', 'client', '--', process.execPath, '-e', code])
  await until(() => asked() === '200', { what: 'an answer by the name of the Service' })
  t.equal(asked(ask.replace('web', 'nobody')), 'ECONNREFUSED', 'a Service without endpoints')
  const raw = (path: string): string => run(['get', '--raw', `/api/v1/namespaces/default/${path}`])
  t.equal(raw('pods/web:80/proxy/'), 'ok', 'the API server reaches a pod')
  t.equal(raw('services/web:8080/proxy/'), 'ok', 'and one behind a Service')
  t.match(raw('services/https:hook:443/proxy/x'), '"url":"/x"', 'by TLS')
  t.throws(() => raw('pods/client:81/proxy/'), /dial tcp 10\.[\d.]+:81: connect: connection refused/, 'or is refused')
  run(['apply', '-f', '-'], { apiVersion: 'v1', kind: 'List', items: [hooks, group] })
  await until(
    () =>
      spawnSync(kubectl.file, [kubeconfig, 'create', 'configmap', 'made'], { encoding: 'utf8' }).stderr.includes(
        'admission webhook "hook.example.io" denied the request: a pod refuses',
      ),
    { what: 'a webhook in a pod to be asked' },
  )
  run(['wait', '--for=condition=Available', 'apiservice/v1.example.io', '--timeout=60s'])
  t.match(run(['get', '--raw', '/apis/example.io/v1/things']), '"url":"/apis/example.io/v1/things', 'an API in a pod')
  const asking = pod('asks', ['sleep', '1000'])
  Object.assign(asking.spec, { hostUsers: false, securityContext: { runAsUser: 1000 } })
  const low = onNode('node-2', pod('low', [process.execPath, '-e', server]))
  Object.assign(low.spec.containers[0]!, { ports: [{ containerPort: 80, hostPort: 80 }] })
  run(['apply', '-f', '-'], { apiVersion: 'v1', kind: 'List', items: [asking, low] })
  const told = () => run(['get', 'events', '-o', 'jsonpath={range .items[*]}{.reason}: {.message}{"\\n"}{end}'])
  const what = 'what cannot be had to be told'
  for (const event of [/UserNotApplied: user 1000 not applied/, /HostUsersNotApplied: hostUsers: false/])
    await until(() => event.test(told()), { what })
  if (firstFreePort() > 80)
    await until(() => /HostPortNotApplied: host port 80 .*kubectl port-forward to port 80; run sysctl/.test(told()), {
      what,
    })
  const hostIP = run(['get', 'pod', 'low', '-o', 'jsonpath={.status.hostIP}'])
  const atHost = () => asked(ask.replace('web:8080', hostIP))
  await until(() => atHost() === '200', { what: 'pods to reach a host port that the machine does not open' })
  run(['delete', 'pod', 'low', '--now'])
  t.not(atHost(), '200', 'the port is closed with its pod')
  const spec = { podSelector: { matchLabels: { app: 'web' } } }
  const policy = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { name: 'deny' }, spec }
  run(['apply', '-f', '-'], policy)
  await until(() => asked() === 'timeout', { what: 'the policy to hold' })
})
