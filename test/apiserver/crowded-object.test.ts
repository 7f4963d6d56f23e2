/** Many writers of one object, whose writes a slow webhook reviews: no writer waits longer than a request may take. */
import t from 'tap'
import type { StatusError } from '../../shared/api/status/status-error.ts'
import type { ConfigMap } from '../../shared/api/types.ts'
import { configMaps } from '../../shared/client/resources.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import { startTestApiServer } from '../harness/api-server.ts'
import { until } from '../harness/until.ts'
import { admitted, startWebhookServer } from '../harness/webhook-server.ts'

const webhooks = { group: 'admissionregistration.k8s.io', version: 'v1', plural: 'validatingwebhookconfigurations' }
/** Fewer than the connections that a listening socket of Linux keeps waiting. */
const writers = 400

t.test('patches of one object at once, which a webhook reviews', async (t) => {
  const clock = createVirtualClock(realClock.now())
  const server = await startTestApiServer(t, {}, undefined, {}, { clock })
  const admin = server.client({ name: 'admin', groups: ['system:masters'] })
  const target = { namespace: 'default', name: 'crowded' }
  await admin.create(configMaps, { metadata: { name: target.name } }, { namespace: target.namespace })
  const hooks = await startWebhookServer(t)
  const held: (() => void)[] = []
  hooks.answers.set('/slow', (review, _request, response) => {
    held.push(() => void response.end(JSON.stringify(admitted(review))))
    return undefined
  })
  await admin.create(webhooks, {
    metadata: { name: 'slow' },
    webhooks: [
      {
        name: 'slow.example.com',
        clientConfig: hooks.clientConfig('/slow'),
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['configmaps'] }],
      },
    ],
  })
  const answers = new Map<string, number>()
  const count = (answer: string): void => void answers.set(answer, (answers.get(answer) ?? 0) + 1)
  const patches = Array.from({ length: writers }, (_, index) =>
    admin.patch<ConfigMap>(configMaps, target, { data: { [`k${index}`]: 'v' } }).then(
      () => count('200'),
      ({ status }: StatusError) => count(`${status.code} ${status.reason}`),
    ),
  )
  await until(() => held.length === writers, { what: 'each patch to be reviewed' })
  for (const answer of held) answer()
  await until(() => held.length > writers, { what: 'the second review of the first patch that was overtaken' })
  t.same([...answers], [['200', 1]], 'one is written; the others take turns')
  await clock.advance(40_000)
  await Promise.all(patches)
  t.same(Object.fromEntries(answers), { 200: 1, '500 InternalError': 4, '504 Timeout': writers - 5 })
  t.equal(held.length, writers + 4, 'who gives up is not reviewed again')
  await Promise.all([server.close(), clock.advance(60_000)])
})
