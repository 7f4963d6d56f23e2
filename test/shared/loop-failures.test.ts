import { pino } from 'pino'
import t from 'tap'
import { startEndpointsController } from '../../controllers/endpoints/endpoints-controller.ts'
import { TermOverError } from '../../controllers/leader-election/term.ts'
import { startLoopSet } from '../../controllers/loop-set.ts'
import { StatusError } from '../../shared/api/status/status-error.ts'
import { modified } from '../../shared/api/status/status-errors.ts'
import type { Service } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { services } from '../../shared/client/resources.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import { tellFailures } from '../../shared/concurrency/loop-failures.ts'
import { WorkQueue } from '../../shared/concurrency/work-queue.ts'
import { startTestApiServer } from '../harness/api-server.ts'
import { until } from '../harness/until.ts'

interface Line {
  level: number
  loop: string
  object: string
  msg: string
  err: { message: string }
}

const warning = 40

function recordingLog() {
  const lines: Line[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const warnings = (): Line[] => lines.filter(({ level }) => level === warning)
  return { log, lines, warnings }
}

function stage() {
  const clock = createVirtualClock()
  const { log, lines, warnings } = recordingLog()
  const tell = tellFailures<string>({ clock, log, loop: 'job-controller', object: 'Job' })
  return { clock, log, lines, warnings, tell }
}

t.test('the first failure of a loop is a warning at once, which names the object and the error', async (t) => {
  const { tell, warnings } = stage()
  tell(new Error('disk full'), 'default/a')
  t.match(warnings(), [
    {
      loop: 'job-controller',
      object: 'Job default/a',
      err: { message: 'disk full' },
      msg: 'job-controller failed for Job default/a, and tries again',
    },
  ])
})

t.test('later failures are one warning a minute, which names the objects in turn', async (t) => {
  const { clock, tell, lines, warnings } = stage()
  for (let second = 0; second < 600; second++) {
    for (const name of ['a', 'b', 'c']) tell(new Error(`no ${name}`), `default/${name}`)
    await clock.advance(1_000)
  }
  t.equal(lines.length - warnings().length, 1_800, 'each is there at debug')
  t.equal(warnings().length, 10)
  const named = warnings().map(({ object, err }) => `${object}: ${err.message}`)
  for (const name of ['a', 'b', 'c']) {
    t.ok(named.slice(0, 3).includes(`Job default/${name}: no ${name}`), `${name} has its turn`)
    t.ok(named.filter((text) => text === `Job default/${name}: no ${name}`).length >= 3, `${name} again and again`)
  }
  t.equal(warnings()[1]?.msg, 'job-controller failed for Job default/b, and tries again (180 failures, 3 objects)')
  await clock.advance(60_000)
  tell(new Error('again'), 'default/a')
  t.equal(warnings().length, 11, 'after a quiet minute a failure is told at once')
})

t.test('each loop has its own minute', async (t) => {
  const { clock, log, tell, warnings } = stage()
  tell(new Error('x'), 'a')
  tellFailures({ clock, log, loop: 'cronjob-controller', object: () => 'all' })(new Error('y'), 'b')
  t.same(
    warnings().map(({ loop }) => loop),
    ['job-controller', 'cronjob-controller'],
  )
})

t.test('a race that is lost is ordinary; a key that always loses is not', async (t) => {
  const { clock, log, warnings } = stage()
  let left = 10
  const queue = new WorkQueue<string>({
    clock,
    async work() {
      if (left-- > 0) throw modified({ group: 'batch', plural: 'jobs' }, 'a')
    },
    onError: tellFailures({ clock, log, loop: 'job-controller', object: 'Job' }),
  })
  queue.add('default/a')
  await clock.advance(60_000)
  t.equal(left, -1, 'ten tries failed, the next did not')
  t.same(warnings(), [])
  left = Number.POSITIVE_INFINITY
  queue.add('default/a')
  await clock.advance(600_000)
  t.ok(warnings().length > 5 && warnings().length < 12, `${warnings().length} warnings in ten minutes`)
  await queue.close()
})

t.test('what a leader cannot write when its term is over is no failure', async (t) => {
  const { tell, warnings } = stage()
  for (let inARow = 1; inARow < 20; inARow++) tell(new TermOverError('the term is over'), 'a', inARow)
  t.same(warnings(), [])
})

t.test('a real loop whose writes are refused', async (t) => {
  const server = await startTestApiServer(t)
  const client = server.client({ name: 'admin', groups: ['system:masters'] })
  const refusal = new StatusError({ code: 500, reason: 'InternalError', message: 'refused by the test' })
  const refusing = new Proxy(client, {
    get: (target, name) => {
      const method = Reflect.get(target, name) as (...words: unknown[]) => unknown
      if (name !== 'create') return method.bind(target)
      return (resource: { plural: string }, ...words: unknown[]) =>
        resource.plural === 'endpoints' ? Promise.reject(refusal) : method.call(target, resource, ...words)
    },
  }) as Client
  const { log, warnings } = recordingLog()
  const loops = startLoopSet({
    client: refusing,
    clock: realClock,
    log,
    start: (context) => [startEndpointsController(context)],
  })
  await loops.synced()
  const service = {
    metadata: { name: 'web', namespace: 'default' },
    spec: { selector: { a: 'b' }, ports: [{ port: 80 }] },
  }
  await client.create<Service>(services, service as Service)
  await until(() => warnings().length > 0, { what: 'a warning' })
  t.match(warnings(), [
    { loop: 'endpoints-controller', object: 'Service default/web', err: { message: /refused by the test/ } },
  ])
  await loops.close()
})
