/** Lines of the audit log of a real server, which `audit/record.ts` has recorded, are those of ours. */
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { join } from 'node:path'
import { urlToHttpOptions } from 'node:url'
import t from 'tap'
import { startTestControlPlane } from '../harness/control-plane.ts'
import { httpsExchange } from '../harness/https-exchange.ts'
import { until } from '../harness/until.ts'
import { normalised } from './audit/normalised.ts'
import { policy, requests } from './audit/requests.ts'

const recorded = JSON.parse(readFileSync(new URL('audit/lines.json', import.meta.url), 'utf8')) as Record<
  string,
  unknown[]
>

t.test('the audit log', async (t) => {
  const folder = t.testdir()
  const auditPolicyFile = join(folder, 'policy.json')
  const auditLogPath = join(folder, 'audit.log')
  writeFileSync(auditPolicyFile, JSON.stringify(policy))
  const { url, tls } = await startTestControlPlane(t, { controllers: [], auditPolicyFile, auditLogPath })
  const agents = [new Agent({ keepAlive: true }), new Agent({ keepAlive: true })]
  t.teardown(() => agents.forEach((agent) => void agent.destroy()))
  for (const { method, path, headers, body, anonymous } of requests) {
    const agent = agents[anonymous ? 0 : 1]
    const credentials = anonymous ? { ca: tls.ca } : tls
    const options = { ...urlToHttpOptions(new URL(url + path)), method, headers, agent, ...credentials }
    await httpsExchange(options, body && JSON.stringify(body))
  }
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
})
