/** The tool that finds differences: what it asks is decided by the seed, and a difference is shrunk to what shows it. */
import t from 'tap'
import { areas } from '../../scripts/differential/areas/index.ts'
import type { Case } from '../../scripts/differential/case.ts'
import { type Difference, differenceOf } from '../../scripts/differential/compare.ts'
import type { Received, Server } from '../../scripts/differential/player.ts'
import { Session } from '../../scripts/differential/session.ts'
import { shrink } from '../../scripts/differential/shrink.ts'
import { Slowest } from '../../scripts/differential/slowest.ts'
import { Random } from '../fuzz/random.ts'

t.test('a seed decides a case', async (t) => {
  for (const [name, make] of Object.entries(areas)) {
    for (const seed of [1, 2, 3]) {
      const text = JSON.stringify(make(new Random(seed)))
      t.equal(JSON.stringify(make(new Random(seed))), text, `${name} ${seed}`)
    }
    const cases = new Set(Array.from({ length: 20 }, (_, seed) => JSON.stringify(make(new Random(seed)))))
    t.ok(cases.size > 15, `${name} makes ${cases.size} different cases of 20`)
  }
})

t.test('requests, parameters, forms and fields that a difference does not need are left away', async (t) => {
  const found: Case = {
    kind: 'ConfigMap',
    operation: 'put',
    what: 'a field',
    steps: [
      { method: 'POST', path: '/a', body: { data: { k: 'v', needed: 'x' } } },
      { method: 'GET', path: '/a' },
      { method: 'PUT', path: '/a?dryRun=All&pretty=true', accept: 'application/yaml', body: { data: { k: 'v' }, x: 1 } },
    ],
  }
  const difference: Difference = { class: 'body', at: '.x: 1 -> 2' }
  const smallest = await shrink(found, difference, async ({ steps }) => {
    const needed = steps.some(({ body }) => (body as { data?: { needed?: string } })?.data?.needed)
    return needed && steps.at(-1)?.path.includes('dryRun') ? difference : undefined
  })
  t.strictSame(smallest.steps, [
    { method: 'POST', path: '/a', body: { data: { needed: 'x' } } },
    { method: 'PUT', path: '/a?dryRun=All', body: {} },
  ])
})

/** Answers with the bodies one after the other, and then with the last one. */
function answering(...bodies: unknown[]): Server {
  let count = 0
  const send = async (): Promise<Received> => {
    const body = bodies[Math.min(count++, bodies.length - 1)]
    return { status: 200, body, warnings: [], type: 'application/json' }
  }
  return { send, open: async () => send }
}

t.test('an answer is equal if the real server once gave it, and unstable if it gave others only', async (t) => {
  const asked = { steps: [{ method: 'GET', path: '/a' }] }
  const foundOf = (ours: Server, theirs: Server) => Array.fromAsync(new Session(ours, theirs).compare(asked))
  t.strictSame(await foundOf(answering('a'), answering('b', 'a')), [undefined])
  t.strictSame(await foundOf(answering('c'), answering('a', 'b')), ['unstable'])
  t.match(await foundOf(answering('b'), answering('a')), [{ class: 'body' }])
})

t.test('the slowest answers are named', async (t) => {
  const slow = Promise.withResolvers<void>()
  const server: Server = {
    ...answering('a'),
    send: async ({ path }) => {
      if (path === '/slow') await slow.promise
      return { status: 200, body: 'a', warnings: [] }
    },
  }
  const slowest = new Slowest('ours')
  const { send } = slowest.timed(server)
  const asked = ['/slow', '/fast'].map((path) => send({ method: 'GET', path, headers: {} }))
  await asked[1]
  slow.resolve()
  await asked[0]
  t.match(slowest.text(), /^slowest answers of ours \(0 of 2 above 1 s\): \d+ ms GET \/slow, \d+ ms GET \/fast$/)
})

t.test('the wait for a revision to come is not among the slowest answers', async (t) => {
  const slowest = new Slowest('ours')
  const server: Server = { ...answering({}), send: async () => ({ status: 504, body: {}, warnings: [] }) }
  await slowest.timed(server).send({ method: 'GET', path: '/a', headers: {} })
  t.equal(slowest.text(), 'slowest answers of ours (0 of 0 above 1 s): ')
})

t.test('a value that a step saves is filled into later ones', async (t) => {
  const paths: string[] = []
  const server: Server = {
    ...answering({}),
    send: async ({ path }) => {
      paths.push(path)
      return { status: 200, body: { metadata: { resourceVersion: '7' } }, warnings: [] }
    },
  }
  const steps = [
    { method: 'GET', path: '/{{name}}', save: { rv: 'metadata.resourceVersion', none: 'metadata.x' } },
    { method: 'GET', path: '/?a={{rv}}&b={{none}}' },
  ]
  await new Session(server, answering({})).play({ steps })
  t.match(paths, [/^\/d\w+-0$/, /^\/\?a=7&b=none$/])
})

t.test('causes of a custom resource have no order, those of other kinds do', async (t) => {
  const answer = (message: string, ...causes: string[]) => ({
    status: 422,
    warnings: [],
    body: { message, causes },
    more: {},
  })
  const custom = 'Thing.x.example.com "a" is invalid: '
  t.equal(differenceOf(answer(`${custom}[a, b]`, 'a', 'b'), answer(`${custom}[b, a]`, 'b', 'a')), undefined)
  t.ok(differenceOf(answer('Pod "a" is invalid: [a, b]', 'a', 'b'), answer('Pod "a" is invalid: [b, a]', 'b', 'a')))
})
