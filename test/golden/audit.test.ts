/** Lines of the audit log of a real server, which `audit/record.ts` has recorded, are those of ours. */
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { join } from 'node:path'
import { urlToHttpOptions } from 'node:url'
import t from 'tap'
import { startTestControlPlane } from '../harness/control-plane.ts'
import { httpsExchange } from '../harness/https-exchange.ts'
import { until } from '../harness/until.ts'
import { startWebhookServer } from '../harness/webhook-server.ts'
import { answered, before } from './audit/admission.ts'
import { normalised } from './audit/normalised.ts'
import { type AuditedRequest, bodyOf, policy, requests } from './audit/requests.ts'
import { answers } from './audit/webhooks.ts'

const recorded = JSON.parse(readFileSync(new URL('audit/lines.json', import.meta.url), 'utf8')) as Record<
  string,
  unknown[]
>

interface AuditEvent {
  requestURI: string
  stage: string
  annotations?: Record<string, string>
}

t.test('the audit log', async (t) => {
  const folder = t.testdir()
  const auditPolicyFile = join(folder, 'policy.json')
  const auditLogPath = join(folder, 'audit.log')
  writeFileSync(auditPolicyFile, JSON.stringify(policy))
  const { url, tls } = await startTestControlPlane(t, { controllers: [], auditPolicyFile, auditLogPath })
  const agents = [new Agent({ keepAlive: true }), new Agent({ keepAlive: true })]
  t.teardown(() => agents.forEach((agent) => void agent.destroy()))
  const webhooks = await startWebhookServer(t)
  for (const [name, answer] of Object.entries(answers)) webhooks.answers.set(`/${name}`, answer)
  const send = async (request: AuditedRequest) => {
    const { method, path, headers, anonymous } = request
    const agent = agents[anonymous ? 0 : 1]
    const credentials = anonymous ? { ca: tls.ca } : tls
    const options = { ...urlToHttpOptions(new URL(url + path)), method, headers, agent, ...credentials }
    return httpsExchange(options, bodyOf(request, webhooks))
  }
  for (const request of requests) await send(request)
  const last = Object.keys(recorded).at(-1) ?? ''
  const lines = await until(
    () => {
      const found = normalised(readFileSync(auditLogPath, 'utf8'))
      return last in found ? found : undefined
    },
    { what: 'the last line' },
  )
  for (const [index, { method, path }] of requests.entries())
    t.strictSame(lines[`request-${index}`], recorded[`request-${index}`], `${index}: ${method} ${path}`)

  for (const request of before) t.equal((await send(request)).status, 201, request.path)
  for (const [request, status, annotations] of answered) {
    t.equal((await send(request)).status, status, request.path)
    const event = await until(
      () => {
        const events = readFileSync(auditLogPath, 'utf8').split('\n').slice(0, -1)
        const all = events.map((line) => JSON.parse(line) as AuditEvent)
        return all.find(({ requestURI, stage }) => requestURI === request.path && stage === 'ResponseComplete')
      },
      { what: `the event of ${request.path}` },
    )
    const said = Object.entries(event.annotations ?? {}).filter(([key]) => !key.startsWith('authorization.k8s.io/'))
    t.strictSame(Object.fromEntries(said), annotations, request.path)
  }
})
