import t from 'tap'
import type { Event, Service } from '../../shared/api/types.ts'
import { events, services } from '../../shared/client/resources.ts'
import { startTestControlPlane } from '../harness/control-plane.ts'
import { until } from '../harness/until.ts'

const namespace = 'default'

t.test('an event on a Service of type LoadBalancer says that nothing gives it an address', async (t) => {
  const { client } = await startTestControlPlane(t)
  const create = (name: string, spec: object) =>
    client.create<Service>(services, {
      metadata: { name, namespace },
      spec: { ports: [{ port: 80 }], ...spec },
    } as Service)
  const told = async (): Promise<Event[]> => {
    const { items } = await client.list<Event>(events, { namespace })
    return items.filter(({ reason }) => reason === 'NoLoadBalancer')
  }
  await create('plain', {})
  await create('of-another', { type: 'LoadBalancer', loadBalancerClass: 'example.com/lb' })
  await create('waits', { type: 'LoadBalancer' })
  await until(async () => (await told()).length === 1, { what: 'the event' })
  t.match(await told(), [
    { involvedObject: { kind: 'Service', name: 'waits' }, type: 'Warning', message: /no cloud provider/ },
  ])

  const patch = { metadata: { labels: { changed: 'yes' } } }
  await client.patch(services, { namespace, name: 'waits' }, patch)
  await client.patch(services, { namespace, name: 'plain' }, { spec: { type: 'LoadBalancer' } })
  await until(async () => (await told()).length === 2, { what: 'the event of the changed Service' })
  t.same(
    new Map((await told()).map(({ involvedObject, count }) => [involvedObject?.name, count])),
    new Map([
      ['plain', 1],
      ['waits', 1],
    ]),
    'a Service is told once',
  )
})
