/** What was recorded of a real server, and what is served here, fits the OpenAPI v3 documents that are published here. */
import { readdirSync, readFileSync } from 'node:fs'
import { Agent } from 'node:https'
import t from 'tap'
import { resources } from '../../apiserver/resources/index.ts'
import { startTestApiServer } from '../harness/api-server.ts'
import { Contract } from './contract.ts'
import type { OpenApiDocument } from './facts.ts'

interface Step {
  method?: string
  path: string
  accept?: string
  type?: string
  headers?: Record<string, string>
  body?: object
  raw?: string
  watch?: object
  sleepMs?: number
  ignore?: string[]
  only?: string[]
  anonymous?: boolean
  save?: Record<string, string>
  answer?: { status: number; body?: unknown }
}
interface Scenario {
  name: string
  namespace?: boolean
  steps: Step[]
}

const folder = new URL('../golden/api/', import.meta.url)
const scenariosOf = (file: string): Scenario[] => JSON.parse(readFileSync(new URL(file, folder), 'utf8'))
const server = await startTestApiServer(t)
const { paths } = (await server.send('/openapi/v3')).body as { paths: object }
const documents = Object.keys(paths).map(async (path) => (await server.send(`/openapi/v3/${path}`)).body)
const contract = new Contract((await Promise.all(documents)) as OpenApiDocument[])

/** Where answers of a real server do not fit its own documents, which are ours. */
const upstreamDiffers: Record<string, string> = {
  "/spec required: must have required property 'token'":
    'a TokenReview is answered without the token that was asked about',
  '/status/phase enum: must be equal to one of the allowed values': 'a status may say any phase',
}

/** Lines for what does not fit, each once. */
class Findings {
  readonly #lines = new Map<string, string>()
  count = 0

  hold(scenario: string, step: Step, { status, body }: { status: number; body?: unknown }): void {
    const lines = contract.problems({ ...step, status, body })
    if (!lines) return
    this.count++
    for (const line of lines) {
      const where = line.replaceAll(/\d+/g, 'N')
      if (!(where in upstreamDiffers) && !isLeftOut(where, step)) this.#lines.set(where, scenario)
    }
  }

  get lines(): string[] {
    return [...this.#lines].map(([line, scenario]) => `${line} (${scenario})`)
  }
}

/** A field that the recording leaves out, since it differs from run to run. */
const isLeftOut = (line: string, { ignore = [] }: Step): boolean =>
  ignore.some((path) => line.includes(`required property '${path.split('.').at(-1)}'`))
const isComparable = ({ watch, only, accept = '', sleepMs }: Step): boolean =>
  !watch && !only && !sleepMs && !accept.includes('as=')

t.test('recorded answers of a real server', async (t) => {
  const findings = new Findings()
  for (const file of readdirSync(folder)) {
    for (const { name, steps } of scenariosOf(file)) {
      for (const step of steps.filter(isComparable)) {
        const { status = 0, body } = step.answer ?? {}
        if (typeof body !== 'object') continue
        const dated = JSON.parse(JSON.stringify(body).replaceAll('<time>', '2026-01-01T00:00:00Z'))
        findings.hold(name, step, { status, body: dated })
      }
    }
  }
  t.same(findings.lines, [])
  t.ok(findings.count > 1_000, `${findings.count} answers`)
})

t.test('answers to the recorded requests', async (t) => {
  const findings = new Findings()
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const send = (path: string, options: object) => server.send(path, { agent, ...options })
  for (const { name, steps } of [...scenariosOf('defaults.json'), ...scenariosOf('subresources.json')]) {
    const ns = `n${findings.count}`
    await send('/api/v1/namespaces', { method: 'POST', body: { metadata: { name: ns } } })
    const account = { metadata: { name: 'default' } }
    await send(`/api/v1/namespaces/${ns}/serviceaccounts`, { method: 'POST', body: account })
    const saved: Record<string, string> = { ns }
    for (const recorded of steps.filter(({ watch, sleepMs }) => !watch && !sleepMs)) {
      const step = filled(recorded, saved)
      const { method, type = 'application/json', headers, body, raw, anonymous, accept } = step
      const sent = raw ?? body
      const all = { ...(accept && { accept }), ...(sent !== undefined && { 'content-type': type }), ...headers }
      const answer = await send(step.path, { method, headers: all, body: sent, anonymous })
      for (const [key, path] of Object.entries(step.save ?? {})) saved[key] = String(picked(answer.body, path) ?? '')
      if (isComparable(step)) findings.hold(name, step, answer)
    }
  }
  t.same(findings.lines, [])
  t.ok(findings.count > 400, `${findings.count} answers`)
})

const filled = (step: Step, saved: Record<string, string>): Step =>
  JSON.parse(JSON.stringify(step).replaceAll(/\{\{(\w+)\}\}/g, (all, name) => saved[name] ?? all))
const picked = (value: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((one, key) => (one as Record<string, unknown> | null | undefined)?.[key], value)

t.test('the example of each kind: created, read, listed, deleted', async (t) => {
  const findings = new Findings()
  const kinds = resources.filter(({ example, virtual }) => example && !virtual)
  const refused: string[] = []
  for (const { group, version, plural, kind, namespaced, example } of kinds) {
    const root = `${group ? `/apis/${group}` : '/api'}/${version}`
    const path = `${root}/${namespaced ? 'namespaces/default/' : ''}${plural}`
    const body = { ...example, kind, apiVersion: group ? `${group}/${version}` : version }
    const created = await server.send(path, { method: 'POST', body })
    const { metadata } = created.body as { metadata?: { name?: string } }
    const one = `${path}/${metadata?.name}`
    if (created.status !== 201) refused.push(`${plural}: ${created.status} ${(created.body as Error).message}`)
    findings.hold(`create ${plural}`, { method: 'POST', path }, created)
    findings.hold(`list ${plural}`, { path }, await server.send(path))
    findings.hold(`get ${plural}`, { path: one }, await server.send(one))
    findings.hold(`delete ${plural}`, { method: 'DELETE', path: one }, await server.send(one, { method: 'DELETE' }))
  }
  t.same(findings.lines, [])
  t.same(refused, [])
  t.ok(findings.count >= 4 * kinds.length - 8, `${findings.count} answers of ${kinds.length} kinds`)
})

t.test('a contract that is broken is found', async (t) => {
  const path = '/api/v1/namespaces/default/configmaps/a'
  const fits = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { a: '1' } }
  const problems = (body: object, status = 200) => contract.problems({ path, status, body })
  t.same(problems(fits), [])
  t.same(problems({ ...fits, data: { a: 1 } }), ['/data/a type: must be string'])
  t.same(problems({ ...fits, more: 1 }), ['additionalProperties: must NOT have additional properties more'])
  t.same(problems({ ...fits, metadata: { creationTimestamp: 'today' } }), [
    '/metadata/creationTimestamp format: must match format "date-time"',
  ])
  t.same(problems({ kind: 'Status', code: 'x' }, 404), ['/code type: must be integer'])
  t.same(problems({ ...fits, data: null }), ['/data type: must be object'], 'null where Go writes none')
  t.equal(contract.problems({ path: '/healthz', status: 200, body: 'ok' }), undefined, 'no document has it')
})
