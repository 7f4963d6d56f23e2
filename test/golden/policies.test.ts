/** What policies say and do, beside a real server's answers. */
import { readFileSync } from 'node:fs'
import { Agent } from 'node:https'
import t from 'tap'
import { startTestApiServer } from '../harness/api-server.ts'
import { expressions } from './policies/expressions.ts'
import { type Answers, play } from './policies/play.ts'

const read = (name: string) => JSON.parse(readFileSync(new URL(`policies/${name}.json`, import.meta.url), 'utf8'))
const recorded = read('answers') as Answers
/** Names with another answer here, and why. */
const differ = read('differ') as Record<string, string>

t.test('policies beside a real server', async (t) => {
  const server = await startTestApiServer(t)
  const agent = new Agent({ keepAlive: true, ...server.tls })
  t.teardown(() => agent.destroy())
  const answers = await play(
    async ({ method, path, body, headers = {} }) => {
      const { status, headers: found, body: answer } = await server.send(path, {
        method,
        body,
        headers: { 'content-type': 'application/json', ...headers },
        agent,
      })
      const { warning } = found as { warning?: string }
      return { status, ...(warning && { warning }), body: answer }
    },
    async () => {},
  )
  for (const [name, heard] of Object.entries(recorded)) {
    const isSame = JSON.stringify(sorted(heard)) === JSON.stringify(sorted(answers[name]))
    const what = expressions[Number(name)] ? JSON.stringify(expressions[Number(name)]!.body) : name
    if (name in differ) t.notOk(isSame, `${what} is answered as by a real server by now`)
    else if (!isSame) t.strictSame(answers[name], heard, what)
  }
  t.strictSame(Object.keys(answers).sort(), Object.keys(recorded).sort(), 'all were recorded')
})

/** Keys in order: Go and we write them in different ones. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value).map(([key, item]) => [key, sorted(item)] as const)
  return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)))
}
