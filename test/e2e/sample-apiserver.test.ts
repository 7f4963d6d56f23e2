/** Upstream's sample API server, in a pod of ours, is reached through our API server. */
import t from 'tap'
import { startTestCluster } from '../harness/cluster.ts'
import { freePort } from '../harness/etcd.ts'
import { findKubectls, kubectl, kubectlSays, startKubectl } from '../harness/kubectl.ts'
import { sampleApiServer, sampleObjects } from '../harness/sample-apiserver.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const apiVersion = 'wardle.example.com/v1alpha1'
const flunder = (name: string, spec = {}) => ({
  apiVersion,
  kind: 'Flunder',
  metadata: { name, namespace: 'default', labels: { sample: name } },
  spec,
})
const list = (items: unknown[]): string => JSON.stringify({ apiVersion: 'v1', kind: 'List', items })

t.test('the sample API server', async (t) => {
  const programs = sampleApiServer()
  if (typeof programs === 'string') return skipOrFail(t, programs)
  const newest = findKubectls().at(-1)
  if (!newest) return skipOrFail(t, 'there is no kubectl here')
  const images = [`--image=sample-apiserver:*=${programs.file}`, `--image=etcd:*=${programs.etcd.file}`]
  const { kubeconfig } = await startTestCluster(t, ...images)
  const says = (...args: string[]): Promise<string> => kubectlSays(t, newest, kubeconfig, args)
  const create = (...items: unknown[]) => kubectl(t, newest, kubeconfig, ['create', '-f', '-'], list(items))
  const port = await freePort()
  t.match(await create(...sampleObjects({ port, etcdPorts: [await freePort(), await freePort()] })), { code: 0 })
  await says('wait', `apiservice/v1alpha1.wardle.example.com`, '--for=condition=Available', '--timeout=90s')

  await t.test('its objects are created, listed, watched, changed and deleted by kubectl', async (t) => {
    await until(async () => (await says('api-resources', '--api-group=wardle.example.com')).includes('flunders'), {
      what: 'flunders in discovery',
    })
    t.match(await create(flunder('one'), flunder('two')), { code: 0 })
    const watch = startKubectl(t, newest, kubeconfig, ['get', 'flunders', '--watch', '--output-watch-events'])
    await until(() => watch.printed().includes('two'), { what: 'what is there, in the watch' })
    await says('label', 'flunder', 'one', 'seen=yes')
    t.equal(await says('get', 'flunder', '-l', 'seen=yes', '-o', 'name'), 'flunder.wardle.example.com/one\n')
    await says('patch', 'flunder', 'two', '--type=merge', '-p', '{"spec":{"reference":"one"}}')
    t.match(await says('get', 'flunder', 'two', '-o', 'yaml'), 'reference: one')
    await says('delete', 'flunder', 'one')
    await until(() => /DELETED.*one/.test(watch.printed()), { what: 'the end of one, in the watch' })
  })

  await t.test('its refusals reach the client as they are', async (t) => {
    const fischer = { apiVersion, kind: 'Fischer', metadata: { name: 'fish' }, disallowedFlunders: ['bad'] }
    t.match(await create(fischer), { code: 0 })
    const refused = await until(
      async () => {
        const { code, stderr } = await create(flunder('bad'))
        if (code === 0) await says('delete', 'flunder', 'bad')
        return code !== 0 && stderr
      },
      { what: 'its admission to know of the name' },
    )
    t.match(refused, 'this name may not be used, please change the resource name')
  })

  await t.test('it asks our API server who may do what', async (t) => {
    await says('create', 'serviceaccount', 'reader')
    const as = '--as=system:serviceaccount:default:reader'
    const refused = await kubectl(t, newest, kubeconfig, ['get', 'flunders', as])
    t.match(refused.stderr, 'cannot list resource "flunders" in API group "wardle.example.com"')
    await says('create', 'role', 'reader', '--verb=list', '--resource=flunders.wardle.example.com')
    await says('create', 'rolebinding', 'reader', '--role=reader', '--serviceaccount=default:reader')
    await until(async () => (await kubectl(t, newest, kubeconfig, ['get', 'flunders', as])).code === 0, {
      what: 'the right to list',
    })
  })

  await t.test('without its pod the API is not available', async (t) => {
    await says('scale', '-n', 'wardle', 'deployment/apiserver', '--replicas=0')
    await says('wait', 'apiservice/v1alpha1.wardle.example.com', '--for=condition=Available=false', '--timeout=60s')
    const { stderr } = await kubectl(t, newest, kubeconfig, ['get', '--raw', `/apis/${apiVersion}/flunders`])
    t.match(stderr, 'the server is currently unable to handle the request')
  })
})
