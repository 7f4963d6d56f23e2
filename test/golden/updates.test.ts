/**
 * Updates of each field of each kind, answered as a kube-apiserver 1.36.3 does. `FIELDS=all` plays every case, and
 * `FIELDS=write` takes out of the list what agrees by now; the suite plays every 32nd. The recording has digests alone:
 * `ANSWERS=FILE` keeps the answers in a file, so that `diff` can compare those of two commits.
 */
import { createWriteStream, readFileSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { join } from 'node:path'
import t from 'tap'
import { startTestApiServer } from '../harness/api-server.ts'
import { type Definitions, digest } from './fields/cases.ts'
import { Player, type Send } from './updates/play.ts'

const folder = join(import.meta.dirname, 'updates')
const read = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8'))
const recorded = read('answers.json') as { [object: string]: { [field: string]: string } }
/** `pods/v1 gated` → field → which of its values are answered otherwise. The list only shrinks. */
const differing = read('differ.json') as { [object: string]: { [field: string]: string } }

const mode = process.env.FIELDS
const kept = process.env.ANSWERS ? createWriteStream(process.env.ANSWERS) : undefined
const STEP = mode ? 1 : 32
t.setTimeout(600_000)

t.test('updates of each field of each kind with odd values', async (t) => {
  const server = await startTestApiServer(t)
  const agent = new Agent({ keepAlive: true, ...server.tls })
  t.teardown(() => agent.destroy())
  const send: Send = async ({ method, path, body, headers }) => {
    const answer = await server.send(path, { method, headers, agent, ...(body !== undefined && { body: body as object }) })
    return { status: answer.status, warning: answer.headers.warning as string | undefined, body: answer.body }
  }
  const { definitions } = (await server.send('/openapi/v2')).body as { definitions: Definitions }
  const found: { [object: string]: { [field: string]: string } } = {}
  let count = 0
  let agreed = 0
  const isKnown = (object: string, field: string) =>
    (mode === 'write' ? differing : recorded)[object]?.[field] !== undefined
  const player = new Player(send, definitions, { step: STEP, isKnown })
  for await (const { object, field, index, answer } of player.answers()) {
    count++
    const agrees = digest(answer) === recorded[object]![field]!.split(' ')[index]
    const isListed = differing[object]?.[field]?.split(' ').includes(String(index)) ?? false
    if (agrees) agreed++
    else if (isListed) ((found[object] ??= {})[field] = [...(found[object]?.[field]?.split(' ') ?? []), index].join(' '))
    if (mode === 'write') continue
    const asked = `${object} ${field} [${index}]`
    kept?.write(`${asked}: ${answer}\n`)
    if (!agrees && !isListed) t.fail(`${asked}: compare the ANSWERS=FILE of two commits`, { answer })
    if (agrees && isListed) t.fail(`${asked} agrees by now: FIELDS=write takes it out of the list`)
  }
  if (mode === 'write') {
    writeFileSync(join(folder, 'differ.json'), `${JSON.stringify(found, null, 1)}\n`)
    kept?.end()
    return
  }
  const all = Object.values(recorded).flatMap((fields) => Object.values(fields)).join(' ').split(' ').length
  kept?.end()
  t.equal(count, Math.ceil(all / STEP), 'each recorded answer has its question')
  t.ok(agreed > 0.9 * count, `${agreed} of ${count} agree`)
})
