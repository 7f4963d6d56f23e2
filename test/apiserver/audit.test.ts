import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { urlToHttpOptions } from 'node:url'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { auditorOf } from '../../apiserver/audit/auditor.ts'
import type { AuditFlags } from '../../apiserver/audit/options.ts'
import { type Policy, ruleFor } from '../../apiserver/audit/policy.ts'
import type { Attributes } from '../../apiserver/auth/types.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { kubeconfig } from '../../shared/pki/kubeconfig-file.ts'
import { startTestControlPlane } from '../harness/control-plane.ts'
import { httpsExchange } from '../harness/https-exchange.ts'
import { until } from '../harness/until.ts'
import { startWebhookServer } from '../harness/webhook-server.ts'

const all = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] }

function start(t: Test, policy: unknown, flags: (folder: string) => Partial<AuditFlags>) {
  const folder = t.testdir()
  const auditPolicyFile = join(folder, 'policy.yaml')
  writeFileSync(auditPolicyFile, typeof policy === 'string' ? policy : JSON.stringify(policy))
  const parts = { clock: realClock, log: pino({ level: 'silent' }) }
  return { folder, starting: auditorOf({ auditPolicyFile, ...flags(folder) }, parts) }
}

t.test('the first rule that fits decides', async (t) => {
  const policy: Policy = {
    omitStages: [],
    omitManagedFields: false,
    rules: [
      { level: 'None', users: ['quiet'] },
      { level: 'None', nonResourceURLs: ['/healthz*'] },
      { level: 'Request', resources: [{ group: '', resources: ['pods'] }], verbs: ['create'] },
      { level: 'Metadata', resources: [{ group: '', resources: ['pods/log', '*/scale'] }] },
      { level: 'Metadata', resources: [{ group: 'apps', resources: ['deployments'], resourceNames: ['one'] }] },
      { level: 'RequestResponse', namespaces: ['loud'], omitStages: ['RequestReceived'] },
    ],
  }
  const user = { name: 'jane', groups: ['developers'] }
  const on = (verb: string, resource: Partial<Attributes['resource']>, more: Partial<Attributes> = {}) =>
    ruleFor(policy.rules, { user, verb, path: '', resource: { group: '', resource: 'pods', ...resource }, ...more })
      ?.level
  t.equal(on('create', {}), 'Request')
  t.equal(on('get', {}), undefined)
  t.equal(on('get', { subresource: 'log' }), 'Metadata')
  t.equal(on('get', { resource: 'things', subresource: 'scale' }), 'Metadata')
  t.equal(on('create', {}, { user: { name: 'quiet', groups: [] } }), 'None')
  t.equal(on('get', { group: 'apps', resource: 'deployments', name: 'one' }), 'Metadata')
  t.equal(on('get', { group: 'apps', resource: 'deployments', name: 'two' }), undefined)
  t.equal(on('get', { namespace: 'loud' }), 'RequestResponse')
  t.equal(ruleFor(policy.rules, { user, verb: 'get', path: '/healthz/etcd' })?.level, 'None')
})

t.test('a policy that cannot be used is refused with the path of the field', async (t) => {
  const cases: Record<string, object | string> = {
    'it must be a Policy of audit.k8s.io/v1': { kind: 'Odd' },
    'rules: it has no rules': { ...all, rules: [] },
    'rules[0].level: Required value': { ...all, rules: [{}] },
    'rules[0].level: Unsupported value: "All"': { ...all, rules: [{ level: 'All' }] },
    'omitStages[0]: Unsupported value: "End"': { ...all, omitStages: ['End'] },
    "must begin with a '/'": { ...all, rules: [{ level: 'None', nonResourceURLs: ['healthz'] }] },
    'rules cannot apply to both': {
      ...all,
      rules: [{ level: 'None', nonResourceURLs: ['/a'], namespaces: ['b'] }],
    },
    '--audit-policy-file': 'a: [',
  }
  for (const [message, policy] of Object.entries(cases)) {
    const { starting } = start(t, policy, (folder) => ({ auditLogPath: join(folder, 'log') }))
    const error = await starting.then(
      () => undefined,
      (error: Error) => error,
    )
    t.ok(error?.message.includes(message), `${message}: ${error?.message}`)
  }
})

t.test('a log that is large enough is continued in another file; old ones go', async (t) => {
  const { folder, starting } = start(t, all, (folder) => ({
    auditLogPath: join(folder, 'audit.log'),
    auditLogMaxsize: 1,
    auditLogMaxbackup: 2,
  }))
  const auditor = await starting
  const line = `${'x'.repeat(700_000)}\n`
  for (let index = 0; index < 6; index++) auditor?.write(() => line)
  await auditor?.close()
  const files = readdirSync(folder).filter((file) => file.startsWith('audit'))
  t.ok(files.length >= 2 && files.length <= 3, files.join())
  t.equal(readFileSync(join(folder, 'audit.log'), 'utf8').length, line.length)
})

t.test('a request has one last event, in whichever way it ends', async (t) => {
  const folder = t.testdir()
  const [auditPolicyFile, auditLogPath] = [join(folder, 'policy.json'), join(folder, 'audit.log')]
  writeFileSync(auditPolicyFile, JSON.stringify({ ...all, omitStages: ['RequestReceived'] }))
  const { url, tls } = await startTestControlPlane(t, { controllers: [], auditPolicyFile, auditLogPath })
  const send = (method: string, path: string, body?: object, accept = 'application/json') => {
    const headers = { accept, 'content-type': 'application/json' }
    const options = { ...urlToHttpOptions(new URL(url + path)), method, headers, agent: false, ...tls }
    return httpsExchange(options, body && JSON.stringify(body))
  }
  const configMaps = '/api/v1/namespaces/default/configmaps'
  await send('POST', '/kubestage/v1/faults', { verb: 'get', resource: 'configmaps', then: { reset: true } })
  await t.rejects(send('GET', `${configMaps}/cut`))
  await send('POST', configMaps, { metadata: { name: 'a' } }, 'application/yaml')
  await send('GET', `${configMaps}?watch=1&timeoutSeconds=1`)
  await send('GET', '/version')
  const lines = (): string[] => readFileSync(auditLogPath, 'utf8').split('\n').slice(1, -1)
  const events = await until(() => lines().length === 5 && lines().map((line) => JSON.parse(line)), { what: 'lines' })
  t.match(events, [
    { requestURI: `${configMaps}/cut`, stage: 'ResponseComplete' },
    { requestURI: configMaps, stage: 'ResponseComplete', responseStatus: { code: 201 } },
    { verb: 'watch', stage: 'ResponseStarted', responseStatus: { code: 200 } },
    { verb: 'watch', stage: 'ResponseComplete', responseStatus: { code: 200 } },
    { requestURI: '/version', stage: 'ResponseComplete', responseStatus: { code: 200 } },
  ])
})

t.test('a webhook gets batches', async (t) => {
  const webhook = await startWebhookServer(t)
  webhook.answers.set('/audit', () => '')
  const { starting } = start(t, all, (folder) => {
    const auditWebhookConfigFile = join(folder, 'webhook.yaml')
    const { url: server } = webhook.clientConfig('/audit')
    const ca = Buffer.from(webhook.caBundle, 'base64').toString()
    const config = kubeconfig({ name: 'audit', server, ca, user: { cert: '', key: '' } })
    writeFileSync(auditWebhookConfigFile, JSON.stringify(config))
    return { auditWebhookConfigFile, auditWebhookBatchMaxSize: 2, auditWebhookBatchMaxWait: 60_000 }
  })
  const auditor = await starting
  for (const id of [1, 2, 3]) auditor?.write(() => `{"auditID":"${id}"}\n`)
  const reviews = await until(() => webhook.reviews.get('/audit'), { what: 'a batch' })
  t.match(reviews[0], { kind: 'EventList', apiVersion: 'audit.k8s.io/v1', items: [{ auditID: '1' }, { auditID: '2' }] })
  await auditor?.close()
  t.match(webhook.reviews.get('/audit')?.[1], { items: [{ auditID: '3' }] })
})
