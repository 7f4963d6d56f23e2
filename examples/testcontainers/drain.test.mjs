import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { CoreV1Api, Watch } from '@kubernetes/client-node'
import { startKubestage } from './kubestage-container.mjs'

const namespace = 'default'
let kubestage
let core
before(async () => {
  kubestage = await startKubestage('--time-scale=10')
  core = kubestage.config.makeApiClient(CoreV1Api)
})
after(() => kubestage?.stop())

test('a pod drains before it ends', async () => {
  const main = {
    name: 'main',
    image: 'busybox',
    command: ['sh', '-c', 'trap "sleep 0.5; exit 0" TERM; while :; do sleep 0.05; done'],
    lifecycle: { preStop: { sleep: { seconds: 5 } } },
  }
  await core.createNamespacedPod({ namespace, body: { metadata: { name: 'web' }, spec: { containers: [main] } } })
  await podIs('web', ({ status }) => status.phase === 'Running')
  await core.deleteNamespacedPod({ namespace, name: 'web' })
  const { status } = await podIs('web', ({ status }) => status.phase === 'Succeeded')
  assert.deepEqual(
    status.containerStatuses.map(({ state }) => [state.terminated.exitCode, state.terminated.reason]),
    [[0, 'Completed']],
  )
})

/** Resolves to the pod as it is once `condition` is true of it. */
function podIs(name, condition) {
  return new Promise((resolve, reject) => {
    const path = `/api/v1/namespaces/${namespace}/pods`
    const watching = new Watch(kubestage.config).watch(
      path,
      { fieldSelector: `metadata.name=${name}` },
      async (_type, pod) => {
        if (!condition(pod)) return
        resolve(pod)
        const controller = await watching
        controller.abort()
      },
      (error) => reject(error ?? new Error(`the watch of ${name} ended`)),
    )
    watching.catch(reject)
  })
}
