import { once } from 'node:events'
import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { Watchdog } from '../../apiserver/http/limits/watchdog.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import { startTestApiServer } from '../harness/api-server.ts'
import { run } from '../harness/run.ts'

const path = '/api/v1/namespaces/default/configmaps'

t.test('a request that holds the event loop is named in the log and by /livez', async (t) => {
  const lines: Record<string, unknown>[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(JSON.parse(line)) })
  let isPlanted = false
  // The time of creation is asked in the midst of a create.
  const clock: Clock = {
    ...realClock,
    machine: realClock,
    now() {
      if (isPlanted) spin(1_300)
      isPlanted = false
      return realClock.now()
    },
  }
  const server = await startTestApiServer(t, {}, log, {}, { clock })
  t.equal((await server.send('/livez')).status, 200)
  t.equal((await server.send('/livez/event-loop')).status, 200)
  const session = server.session()
  await once(session, 'connect')
  isPlanted = true
  const create = server.send(`${path}?fieldManager=slow`, { method: 'POST', body: { metadata: { name: 'slow' } } })
  const bystanders = Array.from({ length: 5 }, () => once(session.request({ ':path': '/version' }).end(), 'response'))
  await Promise.all(bystanders)
  t.equal((await create).status, 201)
  const livez = await server.send('/livez')
  t.equal(livez.status, 500)
  t.match(
    livez.bytes.toString(),
    /\[\+\]ping ok\n[\s\S]*\[-\]event-loop failed: reason withheld\nlivez check failed\n$/,
  )
  const { status, bytes } = await server.send('/livez/event-loop')
  t.equal(status, 500)
  t.match(
    bytes.toString(),
    /^internal server error: the event loop was held for \d\.\d s by POST \/api\/v1\/namespaces\/default\/configmaps, /,
  )
  t.match(lines, [
    { request: `POST ${path}`, client: /^127\.0\.0\.1:\d+$/, msg: 'the event loop was held by one request' },
  ])
  t.match((await server.send('/metrics')).bytes.toString(), /^kubestage_event_loop_holds_total 1$/m)
  t.equal((await server.send('/livez?exclude=event-loop')).status, 200)
  const slis = (await server.send('/metrics/slis')).bytes.toString()
  t.match(slis, /^kubernetes_healthcheck\{name="ping",type="livez"\} 1$/m)
  t.match(slis, /^kubernetes_healthchecks_total\{name="ping",status="success",type="livez"\} 3$/m)
  t.notMatch(slis, 'event-loop', 'a real server has no such check')
  t.equal((await server.send('/openapi/v3')).status, 200)
  t.equal((await server.send('/openapi/v3/')).status, 404)
})

t.test('a hold is over after ten seconds; a busy machine and an idle server are none', async (t) => {
  const clock = createVirtualClock(0, realClock)
  const cpuMs = 0
  const said: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => said.push(line) })
  const watchdog = new Watchdog({ clock, log, cpuMs: () => cpuMs, heapUse: () => 0 })
  t.teardown(() => watchdog.close())
  watchdog.begins({ method: 'GET', url: '/idle' })
  await clock.advance(60_000)
  watchdog.begins({ method: 'GET', url: '/starved' })
  t.equal(watchdog.problem(), undefined)
  t.same(said, [])
})

t.test('before the heap is full lists are refused, then all but deletes', (t) => {
  let use = 0.5
  const log = pino({ level: 'silent' })
  const watchdog = new Watchdog({ clock: realClock, log, heapUse: () => use })
  const verbs = ['list', 'get', 'create', 'patch', 'watch', 'delete', 'deletecollection']
  const refused = (): string[] => verbs.filter((verb) => watchdog.sheds(verb))
  watchdog.sheds('list')
  t.same(refused(), [])
  use = 0.85
  t.same(refused(), ['list'])
  use = 0.95
  t.same(refused(), ['list', 'get', 'create', 'patch', 'watch'])
  use = 0.5
  t.same(refused(), [])
  t.end()
})

t.test('a server whose heap is nearly full answers lists with 429, and again when there is room', async (t) => {
  const flags = ['--max-old-space-size=160', '--max-semi-space-size=8', '--expose-gc']
  const result = await run(process.execPath, [...flags, join(import.meta.dirname, 'full-heap.ts')])
  t.equal(result?.code, 0, result?.output ?? '')
})

/** Takes so much CPU time at once. */
function spin(ms: number): void {
  const before = process.threadCpuUsage()
  for (;;) {
    const { user, system } = process.threadCpuUsage(before)
    if (user + system > ms * 1000) return
  }
}
