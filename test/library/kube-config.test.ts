/** The KubeConfig that the library makes, with clients of @kubernetes/client-node itself. */
import { registerHooks } from 'node:module'
import t from 'tap'
import { resources } from '../../library/index.ts'
import { start } from './stage.ts'

const namespace = 'default'

t.test('without the package', async (t) => {
  const cluster = await start(t)
  const hooks = registerHooks({
    resolve: (specifier, context, next) => next(specifier.replace('@kubernetes/client-node', 'not-installed'), context),
  })
  t.teardown(() => hooks.deregister())
  const message = '@kubernetes/client-node is not installed: run npm install --save-dev @kubernetes/client-node'
  await t.rejects(cluster.kubeConfig(), { message, cause: { code: 'ERR_MODULE_NOT_FOUND' } })
})

t.test('an administrator lists pods, watches them, and deletes one with a reason', async (t) => {
  const { CoreV1Api, Observable, Watch } = await import('@kubernetes/client-node')
  const cluster = await start(t, { apiOnly: false, simulatedNodes: 1, simulatedSteps: true })
  const config = await cluster.kubeConfig()
  const core = config.makeApiClient(CoreV1Api)
  const spec = { containers: [{ name: 'main', image: 'any' }] }
  await core.createNamespacedPod({ namespace, body: { metadata: { name: 'web' }, spec } })
  const isRunning = ({ status }: { status?: { phase?: string } }): boolean => status?.phase === 'Running'
  await cluster.waitFor(resources.pods, { namespace, name: 'web' }, isRunning)
  t.match((await core.listNamespacedPod({ namespace })).items, [
    { metadata: { name: 'web' }, status: { phase: 'Running' } },
  ])

  let deleted = (_reason: unknown): void => {}
  const reason = new Promise((resolve) => {
    deleted = resolve
  })
  const controller = await new Watch(config).watch(
    `/api/v1/namespaces/${namespace}/pods`,
    {},
    (type, { metadata }) => type === 'DELETED' && deleted(metadata.reason),
    () => {},
  )
  t.teardown(() => controller.abort())
  await core.deleteNamespacedPod(
    { namespace, name: 'web' },
    {
      middleware: [
        {
          pre(request) {
            request.setQueryParam('reason', 'Update')
            return new Observable(Promise.resolve(request))
          },
          post: (response) => new Observable(Promise.resolve(response)),
        },
      ],
      middlewareMergeStrategy: 'append',
    },
  )
  t.equal(await reason, 'Update')
  t.match(await cluster.terminations.of('web'), { reason: 'Update' })
})

t.test('another user may do what roles say', async (t) => {
  const { CoreV1Api } = await import('@kubernetes/client-node')
  const cluster = await start(t)
  const jane = (await cluster.kubeConfig({ name: 'jane' })).makeApiClient(CoreV1Api)
  await t.rejects(jane.listNamespacedPod({ namespace }), { code: 403, body: /User \\"jane\\" cannot list resource/ })
})
