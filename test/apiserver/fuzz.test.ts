/**
 * Hostile bodies to every verb of every kind: no internal error, nothing that hangs or grows, and a store that is as it was.
 * The same ones each time; FUZZ_SEED=7 tries others.
 */
import { readFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc, { type Arbitrary } from 'fast-check'
import { pino } from 'pino'
import t from 'tap'
import type { ResourceDefinition } from '../../apiserver/kind/resource-definition.ts'
import { subresourcesOf } from '../../apiserver/kind/subresources.ts'
import { resources } from '../../apiserver/resources/index.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { startTestApiServer } from '../harness/api-server.ts'
import { type HostileBody, hostileBodies } from '../harness/hostile-bodies.ts'

const batch = 12
const batches = 400
const slowMs = 30_000
const growthBytes = 24 << 20

interface Attempt {
  method: string
  path: string
  type: string
  body: HostileBody
}

const vectors = JSON.parse(readFileSync(new URL('../golden/protobuf.json', import.meta.url), 'utf8')) as {
  json: { kind: string }
  protobuf: string
}[]

t.setTimeout(600_000)
/** What went wrong in the server itself: a real one answers some bodies with 500 as well, but on purpose. */
const mishaps: string[] = []
const log = pino({ level: 'error' }, { write: (line: string) => void mishaps.push(line) })
const server = await startTestApiServer(t, {}, log)
const agent = new Agent({ keepAlive: true, maxSockets: batch })
t.teardown(() => agent.destroy())

const can = ({ verbs }: ResourceDefinition, verb: string): boolean => !verbs || verbs.some((other) => other === verb)
const collectionOf = ({ group, version, plural, namespaced }: ResourceDefinition): string =>
  `${group ? `/apis/${group}` : '/api'}/${version}/${namespaced ? 'namespaces/default/' : ''}${plural}`

const readable = resources.filter((kind) => can(kind, 'list'))
const patchTypes = ['json-patch', 'merge-patch', 'strategic-merge-patch'].map((name) => `application/${name}+json`)
const bodyTypes = ['application/json', 'application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf']

/** All that may be asked of a kind with a body. */
function attempts(kind: ResourceDefinition): Arbitrary<Attempt> {
  const { example } = kind
  const collection = collectionOf(kind)
  const object = `${collection}/${example.metadata.name}`
  const messages = vectors
    .filter(({ json }) => json.kind === kind.kind)
    .map(({ protobuf }) => Buffer.from(protobuf, 'base64'))
  const options = {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    gracePeriodSeconds: 5,
    preconditions: { uid: 'x' },
    propagationPolicy: 'Orphan',
  }
  const operations = [
    { op: 'replace', path: '/metadata/labels', value: { a: 'b' } },
    { op: 'copy', from: '/metadata', path: '/spec' },
  ]
  const choices: Arbitrary<Attempt>[] = []
  const add = (method: string, path: string, types: readonly string[], body: object, query = ''): void => {
    choices.push(
      fc.record({
        method: fc.constant(method),
        path: fc
          .constantFrom('', '&fieldValidation=Strict', '&fieldValidation=Ignore')
          .map((more) => `${path}?dryRun=All&fieldManager=fuzz${query}${more}`),
        type: fc.constantFrom(...types),
        body: hostileBodies(body, messages),
      }),
    )
  }
  const write = (path: string): void => {
    if (can(kind, 'update')) add('PUT', path, bodyTypes, example)
    if (can(kind, 'patch')) {
      add('PATCH', path, patchTypes, example)
      add('PATCH', path, patchTypes.slice(0, 1), operations)
      add('PATCH', path, ['application/apply-patch+yaml'], example)
    }
  }
  if (can(kind, 'create')) add('POST', collection, bodyTypes, example)
  // A DELETE's body is asked instead of its query: what is deleted must not be there.
  if (can(kind, 'delete')) add('DELETE', `${collection}/absent`, bodyTypes, options)
  if (can(kind, 'deletecollection')) add('DELETE', collection, bodyTypes, options, '&labelSelector=nobody%3Dhas-this')
  write(object)
  for (const { name, verbs } of subresourcesOf(kind)) {
    if (name === 'proxy') continue // the answer to another request
    if (verbs.includes('update')) write(`${object}/${name}`)
    // Streams are another matter.
    if (verbs.includes('create') && !verbs.includes('get')) add('POST', `${object}/${name}`, bodyTypes, example)
  }
  return fc.oneof(...choices)
}

/** The items of each list. */
async function everything(): Promise<Record<string, string>> {
  const lists: Record<string, string> = {}
  for (const kind of readable) {
    const { bytes } = await server.send(collectionOf(kind), { agent })
    lists[collectionOf(kind)] = bytes.toString().replace(/^.*?"items":/, '')
  }
  return lists
}

function heapUsed(): number {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
  return process.memoryUsage().heapUsed
}

async function attempt({ method, path, type, body }: Attempt): Promise<void> {
  const start = realClock.monotonic()
  const { status, body: answer } = await server.send(path, {
    method,
    agent,
    headers: { 'content-type': type, 'content-length': String(body.bytes.length) },
    body: body.bytes,
  })
  const tookMs = realClock.monotonic() - start
  if (mishaps.length > 0) throw new Error(mishaps.splice(0).join(''))
  if (status === 0 || status > 500 || tookMs > slowMs)
    throw new Error(`${status} after ${tookMs} ms: ${JSON.stringify(answer).slice(0, 500)}`)
}

t.test('hostile bodies', async (t) => {
  for (const kind of readable.filter((one) => can(one, 'create'))) {
    const { status, body } = await server.send(collectionOf(kind), { method: 'POST', body: kind.example })
    // One of two versions of a kind finds the other's example there.
    t.ok(status === 201 || status === 409, `${kind.kind}: ${status} ${JSON.stringify(body).slice(0, 300)}`)
  }
  const writable = resources.filter((kind) => can(kind, 'create'))
  const property = fc.asyncProperty(
    fc.array(fc.oneof(...writable.map(attempts)), { minLength: batch, maxLength: batch }),
    async (requests) => {
      await Promise.all(requests.map(attempt))
    },
  )
  const seed = Number(process.env.FUZZ_SEED ?? 20_261_121)
  t.comment(`seed ${seed}`)
  const before = await everything()
  await fc.assert(property, { seed, numRuns: batches })
  const heapBefore = heapUsed()
  await fc.assert(property, { seed: seed + 1, numRuns: batches })
  const grown = heapUsed() - heapBefore
  t.ok(grown < growthBytes, `the heap grew by ${grown} bytes in ${batch * batches} requests`)
  t.same(await everything(), before, 'the store is as it was')
  t.equal(({} as { polluted?: boolean }).polluted, undefined)
})
