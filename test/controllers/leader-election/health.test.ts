import { pino } from 'pino'
import t from 'tap'
import { ElectedLoops } from '../../../controllers/leader-election/elected-loops.ts'
import type { Client } from '../../../shared/client/client.ts'
import { namespaces } from '../../../shared/client/resources.ts'
import { createVirtualClock } from '../../../shared/clock/virtual-clock.ts'
import { healthOf } from '../../../shared/http/health-checks.ts'
import { startTestApiServer } from '../../harness/api-server.ts'

const settings = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2_000,
  namespace: 'kube-system',
  name: 'loops',
}

t.test('loops that do not stop 20 s after their term make the process unhealthy', async (t) => {
  const clock = createVirtualClock()
  const server = await startTestApiServer(t)
  const admin = server.client({ name: 'admin', groups: ['system:masters'] })
  await admin.create(namespaces, { metadata: { name: 'kube-system' } })
  let isCut = false
  const client = new Proxy(admin, {
    get: (target, name) =>
      isCut ? () => Promise.reject(new Error('cut off')) : Reflect.get(target, name).bind(target),
  }) as Client
  const stopped = Promise.withResolvers<void>()
  let starts = 0
  const loops = new ElectedLoops({
    client,
    clock,
    log: pino({ level: 'silent' }),
    component: 'kube-controller-manager',
    settings,
    loopsClient: () => client,
    start: () => {
      starts += 1
      return { synced: async () => {}, close: () => stopped.promise }
    },
  })
  t.teardown(() => loops.close())
  const ask = (target: string) => healthOf({ ping: () => undefined, leaderElection: () => loops.trouble() }, target)
  await clock.advanceUntil(() => starts === 1)
  await clock.advance(60_000)
  t.same(ask('/healthz'), { code: 200, text: 'ok' })
  t.same(ask('/livez?verbose'), { code: 200, text: '[+]ping ok\n[+]leaderElection ok\nlivez check passed\n' })
  isCut = true
  await clock.advance(25_000)
  t.same(ask('/healthz'), { code: 200, text: 'ok' }, 'its loops have some time to stop')
  await clock.advance(10_000)
  const failed = '[+]ping ok\n[-]leaderElection failed: reason withheld\nhealthz check failed\n'
  t.same(ask('/healthz'), { code: 500, text: failed })
  const why = 'internal server error: failed election to renew leadership on lease loops\n'
  t.same(ask('/livez/leaderElection'), { code: 500, text: why })
  t.same(ask('/livez/ping'), { code: 200, text: 'ok' })
  isCut = false
  stopped.resolve()
  await clock.advanceUntil(() => starts === 2)
  t.same(ask('/healthz'), { code: 200, text: 'ok' }, 'it stands again')
  for (const target of ['/', '/healthz/', '/healthz/toString', '/healthz/ping/x', '/readyz', '/healthzz'])
    t.match(ask(target), { code: 404 }, target)
})
