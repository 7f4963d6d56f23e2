/**
 * A rollout behind a Service under load: what clients lose stands in the records of the pods that lost it. SHOP=whole
 * restarts all services of the shop of examples/manifests, and nothing else, as root and as an ordinary user (`SHOP_AS`
 * chooses one); the suite restarts its front end as root.
 */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import type { Termination } from '../../shared/api/termination.ts'
import { startCommand, startTestCluster } from '../harness/cluster.ts'
import { ownPodRange, ownServiceRange } from '../harness/own-pod-range.ts'
import { podNetworkTools } from '../harness/pod-network-tools.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'
import { debianImage } from '../images/debian-image.ts'
import { noDebian } from '../images/debian-packages.ts'
import { Load, PER_SECOND } from './lost-requests/load.ts'
import { LoadInPod } from './lost-requests/load-in-pod.ts'
import { playShop, shopImage } from './lost-requests/shop.ts'
import { Stage, type Who, whyNoOrdinaryUser } from './manifests/stage.ts'

const server = `const server = require('http').createServer((request, response) => response.end('ok')).listen(8080)
process.on('SIGTERM', () => server.close(() => process.exit(0)))`

const deployment = (preStop: number) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'shop' },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: 'shop' } },
    template: {
      metadata: { labels: { app: 'shop' } },
      spec: {
        terminationGracePeriodSeconds: 20,
        containers: [
          {
            name: 'main',
            image: 'node',
            command: [process.execPath, '-e', server],
            readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
            ...(preStop > 0 && { lifecycle: { preStop: { sleep: { seconds: preStop } } } }),
          },
        ],
      },
    },
  },
})
const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'shop' },
  spec: { selector: { app: 'shop' }, ports: [{ port: 80, targetPort: 8080 }] },
}

t.setTimeout(1_800_000)

const isWhole = process.env.SHOP === 'whole'
const isChosen = (who: Who): boolean => (process.env.SHOP_AS ?? who) === who

t.test(
  'the shop of an ordinary user',
  { skip: isWhole && isChosen('ordinary user') ? false : 'SHOP=whole' },
  async (t) => {
    const kubectl = await podNetworkTools(t)
    if (!kubectl) return
    const why = noDebian() ?? whyNoOrdinaryUser()
    if (why) return skipOrFail(t, why)
    const stage = await Stage.start(t, kubectl.file, 'ordinary user', ['--endpoint-lag=2s'])
    const run = (...args: string[]): Promise<string> => stage.kubectl(args)
    await playShop(t, {
      cluster: stage,
      kubectl: run,
      apply: async (...items) => {
        await stage.kubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
      },
      loadImage: (t) => stage.load(t, shopImage),
      answers: (url) =>
        stage.get(url).then(
          () => true,
          () => false,
        ),
      send: (urlOf) =>
        LoadInPod.start({
          kubectl: { file: kubectl.file, kubeconfig: join(stage.stateDir, 'kubeconfig') },
          run: (args, input) => stage.kubectl(args, input),
          urls: Array.from({ length: 10 }, (_, sent) => urlOf(sent)),
        }),
      isWhole,
      lagMs: 2_000,
    })
  },
)

t.test('a rolling update under load', { skip: isChosen('root') ? false : 'SHOP_AS' }, async (t) => {
  const kubectl = await podNetworkTools(t)
  if (!kubectl) return
  const ranges = [`--cluster-cidr=${ownPodRange}`, `--service-cidr=${ownServiceRange}`]
  const cluster = await startTestCluster(t, '--network=pod', '--endpoint-lag=2s', '--pull-images=never', ...ranges)
  // Kubectl must not hold up the requests of this process.
  const run = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)(kubectl.file, [`--kubeconfig=${cluster.kubeconfig}`, ...args])).stdout.trim()
  const apply = async (...items: object[]): Promise<void> => {
    const file = join(t.testdirName, 'objects.json')
    await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
    await run('apply', '-f', file)
  }
  const rollOut = () => run('rollout', 'status', 'deployment/shop', '--timeout=60s')
  const records = async (): Promise<Termination[]> => JSON.parse(await run('get', 'terminations', '-o', 'json')).items
  const pods = async () => (await run('get', 'pods', '-o', 'jsonpath={.items[*].metadata.name}')).split(' ')
  const why = noDebian()
  const loadImage = async (t: Test): Promise<void> => {
    const archive = await debianImage(shopImage)
    const load = startCommand(t, ['image', 'load', archive, `--state-dir=${cluster.stateDir}`])
    t.equal(await load.ended, 0, load.output())
  }
  const answers = (url: string) =>
    fetch(url).then(
      ({ ok }) => ok,
      () => false,
    )
  const send = (urlOf: (sent: number) => string) => new Load(urlOf)
  const shop = { cluster, kubectl: run, apply, loadImage, answers, send, isWhole, lagMs: 2_000 }
  const play = () => t.test('the shop', (t) => (why ? skipOrFail(t, why) : playShop(t, shop)))
  if (isWhole) return play()
  await apply(deployment(8), service)
  await rollOut()
  const ip = await run('get', 'service', 'shop', '-o', 'jsonpath={.spec.clusterIP}')
  await until(() => answers(`http://${ip}`), { what: 'an answer by the cluster IP' })
  const restartUnderLoad = async (): Promise<Load> => {
    const load = new Load(() => `http://${ip}`)
    await run('rollout', 'restart', 'deployment/shop')
    await rollOut()
    await until(async () => (await pods()).length === 3, { what: 'the old pods to be gone', timeoutMs: 60_000 })
    await sleep(3_000) // the lag
    await load.end()
    return load
  }

  await t.test('with a preStop sleep that is longer than the lag', async (t) => {
    const load = await restartUnderLoad()
    t.same(load.failures, [])
    t.ok(load.answered > PER_SECOND)
    t.same(
      (await records()).filter(({ lostRequests }) => lostRequests),
      [],
    )
  })

  await t.test('without one', async (t) => {
    await apply(deployment(0))
    await rollOut()
    await until(async () => (await pods()).length === 3, { what: 'the old pods to be gone', timeoutMs: 60_000 })
    const before = await pods()
    const load = await restartUnderLoad()
    const losses = async () => {
      const ended = (await records()).filter(({ podName = '' }) => before.includes(podName))
      const all = ended.flatMap(({ lostRequests }) => (lostRequests ? [lostRequests] : []))
      return all.length === 3 ? all.flat() : undefined
    }
    const told = await until(losses, { what: 'the records to tell of lost requests', timeoutMs: 60_000 })
    t.ok(load.failures.length > 0)
    const sum = told.reduce((total, { count }) => total + count, 0)
    const seen = load.failures.length
    // A connection that the program ends without an answer looks orderly to rules.
    t.ok(Math.abs(sum - seen) <= 2 + seen / 10, `${sum} are told, ${seen} were lost: ${JSON.stringify(told)}`)
  })
  await play()
})
