import t from 'tap'
import type { KubeletLog } from '../../kubelet/kubelet-options.ts'
import { StatusError } from '../../shared/api/status/status-error.ts'
import type { Client } from '../../shared/client/client.ts'
import { machine } from './machine.ts'

/** What a real API server answers a kubelet: of an API that does not exist, RBAC says that it is forbidden. */
const refusals = {
  'with RBAC': new StatusError({
    code: 403,
    reason: 'Forbidden',
    message:
      'terminations.kubestage.dev is forbidden: User "system:node:n1" cannot create resource "terminations" in API group "kubestage.dev" in the namespace "default"',
    details: { group: 'kubestage.dev', kind: 'terminations' },
  }),
  'without authorization': new StatusError({ code: 404, message: '404 page not found' }),
}

for (const [how, refusal] of Object.entries(refusals)) {
  t.test(`an API server without terminations, ${how}, is told of once, and asked again later`, async (t) => {
    const said: string[] = []
    const say = (_: object, message: string) => said.push(message)
    const log: KubeletLog = { info: say, warn: say, error: say }
    const tried: string[] = []
    const box: Parameters<typeof machine>[2] = { log }
    const node = machine(t, {}, box)
    const { create } = node.client
    box.client = {
      ...node.client,
      create: ((resource, object, options) => {
        if (resource.plural !== 'terminations') return create(resource, object, options)
        tried.push(resource.plural)
        return Promise.reject(refusal)
      }) as Client['create'],
    }
    const kubelet = await node.start()
    const endOne = async (name: string): Promise<void> => {
      await node.create(name)
      await node.clock.advance(2_000)
      node.delete(name)
      await node.clock.advance(20_000)
      t.notOk(node.pod(name), 'gone')
    }
    await endOne('a')
    await endOne('b')
    t.same([said.length, tried.length], [1, 1], 'one line for two pods')
    t.match(said[0], /does not take terminations\.kubestage\.dev/)
    await node.clock.advance(600_000)
    await endOne('c')
    t.equal(tried.length, 2, 'asked again after ten minutes')
    await kubelet.close()
  })
}
