/**
 * Odd values for each field of each kind, answered as a kube-apiserver 1.36.3 does. `FIELDS=all` plays every case, and
 * `FIELDS=write` takes out of the list what agrees by now; the suite plays each sixteenth.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { join } from 'node:path'
import t from 'tap'
import { startTestApiServer } from '../harness/api-server.ts'
import { Cases, type Definitions, digest, normalize } from './fields/cases.ts'

const folder = join(import.meta.dirname, 'fields')
const read = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8'))
const recorded = read('answers.json') as { [kind: string]: { [path: string]: string } }
/** `pods/v1 spec.x` → which of its values are answered otherwise. The list only shrinks. */
const differing = read('differ.json') as { [field: string]: number[] }

const mode = process.env.FIELDS
const STEP = mode ? 1 : 16
t.setTimeout(600_000)

t.test('each field of each kind with odd values', async (t) => {
  const server = await startTestApiServer(t)
  const agent = new Agent({ keepAlive: true, ...server.tls })
  t.teardown(() => agent.destroy())
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } }
  await server.send('/api/v1/namespaces/default/serviceaccounts', { method: 'POST', body: account })
  const { definitions } = (await server.send('/openapi/v2')).body as { definitions: Definitions }
  const asked = [...new Cases(definitions).all()].filter(({ kind, path }) => recorded[kind]?.[path] !== undefined)
  const found: { [field: string]: number[] } = {}
  let agreed = 0
  for (const [place, { kind, path, index, url, body }] of asked.entries()) {
    if (place % STEP !== 0) continue
    const field = `${kind} ${path}`
    const isKnown = differing[field]?.includes(index) ?? false
    if (mode === 'write' && !isKnown) continue
    const { status, headers, body: answered } = await server.send(url, { method: 'POST', body, agent })
    const answer = normalize(status, headers.warning as string | undefined, answered)
    const agrees = digest(answer) === recorded[kind]![path]!.split(' ')[index]
    if (agrees) agreed++
    else (found[field] ??= []).push(index)
    if (mode === 'write') continue
    if (!agrees && !isKnown) t.fail(`${field} [${index}]: ${answer.slice(0, 400)}`)
    if (agrees && isKnown) t.fail(`${field} [${index}] agrees by now: FIELDS=write takes it out of the list`)
  }
  if (mode === 'write') {
    writeFileSync(join(folder, 'differ.json'), `${JSON.stringify(found, null, 1)}\n`)
    return
  }
  t.ok(agreed > 0.9 * (asked.length / STEP), `${agreed} of ${Math.ceil(asked.length / STEP)} agree`)
  t.equal(asked.length, Object.values(recorded).flatMap((paths) => Object.values(paths)).join(' ').split(' ').length)
})
