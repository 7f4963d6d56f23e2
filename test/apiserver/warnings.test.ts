/** Warnings of each kind, as a real kube-apiserver 1.36.3 gave them: at the creation, and at changes of the object. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startTestApiServer } from '../harness/api-server.ts'

interface Step {
  method: string
  path: string
  type?: string
  body: object
  status: number
  warnings: string[]
}
const recorded = JSON.parse(readFileSync(join(import.meta.dirname, 'warnings.json'), 'utf8')) as {
  name: string
  steps: Step[]
}[]

const server = await startTestApiServer(t, {})
await server.send('/api/v1/namespaces', { method: 'POST', body: { metadata: { name: 'warn' } } })

/** `299 - "text", 299 - "text"` */
const textsOf = (header: string | string[] | undefined): string[] =>
  [...String(header ?? '').matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)].map(([, text]) => JSON.parse(`"${text}"`))

for (const { name, steps } of recorded) {
  t.test(name, async (t) => {
    for (const [index, { method, path, type, body, status, warnings }] of steps.entries()) {
      const headers = type ? { 'content-type': type } : undefined
      const answer = await server.send(path, { method, body, headers })
      t.same([answer.status, ...textsOf(answer.headers.warning)], [status, ...warnings], `step ${index + 1}`)
    }
  })
}
