/** Containers with the files of images that were loaded, from kubectl's side. */
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { loadImages } from '../../kubelet/images/load/load-images.ts'
import { ImageStore } from '../../kubelet/images/store/image-store.ts'
import { canHaveUsers } from '../../kubelet/runtime/process/view/users-here.ts'
import type { Container, Node, Pod, PodSpec } from '../../shared/api/types.ts'
import { nodes, pods } from '../../shared/client/resources.ts'
import { archiveOf } from '../harness/archive-of.ts'
import { busyboxRoot, noBusybox } from '../harness/busybox-root.ts'
import { startCommand, startProgram, startTestCluster } from '../harness/cluster.ts'
import { savedEntries, tarOf } from '../harness/image-archives.ts'
import { findKubectls } from '../harness/kubectl.ts'
import { followPod, getText } from '../harness/pods.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { skipOrFail } from '../harness/skip.ts'

const folder = scratchFolder(t, 'loaded-images')
const namespace = 'default'
const hasImage = busyboxRoot(join(folder, 'root'))
const skip = hasImage ? false : noBusybox
if (skip && process.env.KUBESTAGE_FORBID_SKIPS) t.fail(skip)

/** What `docker save` writes for a small image with a command, a user and a working directory of its own. */
async function saved(name: string): Promise<string> {
  const config = {
    Entrypoint: [
      'sh',
      '-c',
      'cat /etc/os-release; pwd; echo "$GREETING $0 $@"; id -un; cat /etc/hostname; exec sleep 1000',
    ],
    Cmd: ['by', 'default'],
    Env: ['GREETING=hello', 'PATH=/bin'],
    WorkingDir: '/srv/data',
    User: 'web',
  }
  const file = join(folder, `${name.replace(/\W/g, '-')}.tar`)
  const layers = [await archiveOf(join(folder, 'root'))]
  writeFileSync(file, await tarOf(savedEntries({ name, layers, config })))
  return file
}

t.test('an application runs as it is', { skip }, async (t) => {
  const cluster = await startTestCluster(t, '--pull-images=never')
  const { client, stateDir } = cluster
  const container = (of: Partial<Container>): Container => ({ name: 'main', image: 'shop/web:2', ...of })
  const podOf = (name: string, of: Partial<Container>, spec: Partial<PodSpec> = {}): Pod => ({
    metadata: { name, namespace },
    spec: { containers: [container(of)], terminationGracePeriodSeconds: 1, ...spec },
  })
  const follow = (name: string) => followPod(client, { namespace, name })
  const log = (name: string) => getText(cluster, `/api/v1/namespaces/${namespace}/pods/${name}/log`)
  const isRunning = ({ status }: Pod) => status?.phase === 'Running'
  const logged = async (name: string, lines: number): Promise<string> => {
    for (;;) {
      const text = await log(name)
      if (text.split('\n').length > lines) return text
    }
  }

  await t.test('as soon as its image is there', async (t) => {
    await client.create(pods, podOf('web', {}), { namespace })
    const web = await follow('web')
    const waiting = ({ status }: Pod) => status?.containerStatuses?.[0]?.state?.waiting?.reason === 'ErrImagePull'
    await web.until(waiting, 'waits')
    const load = startCommand(t, ['image', 'load', await saved('shop/web:2'), `--state-dir=${stateDir}`])
    t.equal(await load.ended, 0, load.output())
    const pod = await web.until(isRunning, 'runs')
    t.match(pod.status?.containerStatuses?.[0]?.imageID, /^sha256:[0-9a-f]{64}$/)
    t.equal(await logged('web', 5), 'ID=small\n/srv/data\nhello by default\nweb\nweb\n')
  })

  await t.test('with arguments, variables and a user of the pod', async (t) => {
    const env = [{ name: 'GREETING', value: 'bye' }]
    const securityContext = { runAsUser: 0 }
    await client.create(pods, podOf('other', { args: ['$(GREETING)', 'x'], env, securityContext }), { namespace })
    await (await follow('other')).until(isRunning, 'runs')
    t.equal(await logged('other', 5), 'ID=small\n/srv/data\nbye bye x\nroot\nother\n')
  })

  await t.test('with users of its own', async (t) => {
    if (!canHaveUsers()) return skipOrFail(t, 'this kernel gives pods no users of their own')
    const look = [
      "cat /proc/self/uid_map | tr -s ' '",
      'id -u',
      'ls -ln /srv/data/shipped | tr -s " " | cut -d" " -f3',
      'touch /made /volume/made && ls -ln /made /volume/made | tr -s " " | cut -d" " -f3',
      'grep -c " /proc/" /proc/mounts',
      'echo over; exec sleep 1000',
    ].join('; ')
    const volumes = { volumes: [{ name: 'own', emptyDir: {} }], hostUsers: false }
    const volumeMounts = [{ name: 'own', mountPath: '/volume' }]
    const ask = (name: string, securityContext: Container['securityContext']) =>
      client.create(pods, podOf(name, { command: ['sh', '-c', look], securityContext, volumeMounts }, { ...volumes }), {
        namespace,
      })
    await ask('mapped', { runAsUser: 0 })
    await ask('open', { runAsUser: 0, procMount: 'Unmasked' })
    await (await follow('mapped')).until(isRunning, 'runs')
    const [map, user, shipped, made, inVolume, hidden, last] = (await logged('mapped', 6)).split('\n')
    t.match(map, /^ 0 \d{9,} 65536$/)
    t.same([user, shipped, made, inVolume, last], ['0', '0', '0', '0', 'over'], 'it is root, as its files say')
    t.ok(Number(hidden) > 3, 'parts of /proc are hidden')
    await (await follow('open')).until(isRunning, 'runs')
    const other = (await logged('open', 6)).split('\n')
    t.equal(other[5], '0', 'procMount: Unmasked shows all')
    t.not(other[0], map, 'each pod has its own')
    const exec = startProgram(t, ['exec', 'mapped', '--', 'sh', '-c', 'id -u; touch /tmp/x && echo made'], {
      node: findKubectls()[0]?.file,
      variables: { KUBECONFIG: join(stateDir, 'kubeconfig') },
    })
    await exec.ended
    t.equal(exec.output(), '0\nmade\n', 'so is a command in it')
    for (const name of ['mapped', 'open']) await client.delete(pods, { namespace, name })
  })

  await t.test('its program leaves a message, and hooks and probes run among its files', async (t) => {
    const command = ['sh', '-c', 'trap "echo told >/dev/termination-log; exit 3" TERM; while :; do sleep 0.05; done']
    const readinessProbe = { exec: { command: ['cat', '/etc/os-release'] }, periodSeconds: 1 }
    const lifecycle = { preStop: { exec: { command: ['touch', '/tmp/asked'] } } }
    await client.create(pods, podOf('polite', { command, readinessProbe, lifecycle }), { namespace })
    const polite = await follow('polite')
    await polite.until(({ status }) => status?.containerStatuses?.[0]?.ready === true, 'is ready')
    await client.delete(pods, { namespace, name: 'polite' })
    const ended = await polite.until(
      ({ status }) => status?.containerStatuses?.[0]?.state?.terminated !== undefined,
      'ends',
    )
    t.match(ended.status?.containerStatuses?.[0]?.state?.terminated, { exitCode: 3, message: 'told\n' })
  })

  await t.test('not as root where the pod forbids it, in the kubelet’s words', async (t) => {
    await client.create(pods, podOf('careful', { securityContext: { runAsNonRoot: true } }), { namespace })
    const pod = await (await follow('careful')).until(
      ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CreateContainerConfigError',
      'is refused',
    )
    t.match(
      pod.status?.containerStatuses?.[0]?.state?.waiting?.message,
      /^container has runAsNonRoot and image has non-numeric user \(web\), cannot verify user is non-root \(pod: /,
    )
  })

  await t.test('its files are a volume of others, which they cannot write to', async (t) => {
    const volumes = [{ name: 'files', image: { reference: 'shop/files:1' } }]
    const command = ['sh', '-c', 'cat /files/etc/os-release /data/shipped; touch /files/x || echo refused']
    const volumeMounts = [
      { name: 'files', mountPath: '/files' },
      { name: 'files', mountPath: '/data', subPath: 'srv/data' },
    ]
    const of = { command, volumeMounts }
    await client.create(pods, podOf('reader', { ...of, image: 'busybox:1.37' }, { volumes, restartPolicy: 'Never' }), {
      namespace,
    })
    await client.create(pods, podOf('other-reader', of, { volumes, restartPolicy: 'Never' }), { namespace })
    const reader = await follow('reader')
    const waiting = await reader.until(
      ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === 'ErrImagePull',
      'waits for its volume',
    )
    t.match(waiting.status?.containerStatuses?.[0]?.state?.waiting?.message, /^image "shop\/files:1" is not loaded/)
    const load = startCommand(t, ['image', 'load', await saved('shop/files:1'), `--state-dir=${stateDir}`])
    t.equal(await load.ended, 0, load.output())
    for (const name of ['reader', 'other-reader']) {
      await (await follow(name)).until(({ status }) => status?.phase === 'Succeeded', 'ends')
      t.match(await log(name), /^ID=small\nwith the image\ntouch: .*Read-only file system\nrefused\n$/)
    }
    const rm = startCommand(t, ['image', 'rm', 'shop/files:1', `--state-dir=${stateDir}`])
    t.equal(await rm.ended, 0, rm.output())
  })

  await t.test('what the user maps counts more', async (t) => {
    const add = startCommand(t, ['image', 'add', 'shop/*', `--state-dir=${stateDir}`, '--', 'echo', 'mapped'])
    t.equal(await add.ended, 0, add.output())
    await client.create(pods, podOf('of-the-user', {}, { restartPolicy: 'Never' }), { namespace })
    await (await follow('of-the-user')).until(({ status }) => status?.phase === 'Succeeded', 'ends')
    t.equal(await log('of-the-user'), 'mapped\n')
  })

  await t.test('an image that a container runs is not removed', async (t) => {
    const rm = startCommand(t, ['image', 'rm', 'shop/web:2', `--state-dir=${stateDir}`])
    t.equal(await rm.ended, 1)
    t.match(rm.output(), /a container runs docker.io\/shop\/web:2 \(process \d+\); delete its pod first/)
  })
})

t.test('images come out of Docker and containerd', { skip }, async (t) => {
  const archive = readFileSync(await saved('shop/engine:1'))
  const place = join(folder, 'engines')
  mkdirSync(place)
  const socket = join(place, 'docker.sock')
  let body: (response: ServerResponse) => void = (response) => response.end(archive)
  const asked: string[] = []
  const engine = createServer(({ url = '' }, response) => {
    asked.push(url)
    if (url === '/images/json') response.end('[{"RepoTags":["shop/engine:1","<none>:<none>"]},{"RepoTags":null}]')
    else if (url.includes('missing')) response.writeHead(404).end('{}')
    else body(response)
  }).listen(socket)
  await once(engine, 'listening')
  t.teardown(() => engine.close())
  const run = async (from: string, ...words: string[]) => {
    const variables = {
      DOCKER_HOST: `unix://${socket}`,
      CONTAINERD_ADDRESS: socket,
      PATH: `${place}:${process.env.PATH}`,
    }
    const args = ['image', 'import', `--from=${from}`, `--image-store=${join(place, 'store')}`, ...words]
    const command = startCommand(t, args, { variables })
    return { code: await command.ended, output: command.output() }
  }
  const isLoaded = { code: 0, output: 'docker.io/shop/engine:1 is loaded\n' }
  t.same(await run('docker', 'shop/engine:1'), isLoaded)
  t.same(asked, ['/images/docker.io%2Fshop%2Fengine%3A1/get'])
  t.same(await run('docker'), isLoaded, 'all that have a name')
  t.match(await run('docker', 'missing'), { code: 1, output: /Docker has no image docker.io\/library\/missing:latest/ })
  body = (response) => response.end('{"images":"none"}')
  t.match(await run('docker', 'shop/lie:1'), {
    code: 1,
    output: /is not a valid tar archive|is truncated|is not an image/,
  })
  body = (response) => {
    response.writeHead(200, { 'content-length': archive.length * 2 })
    response.write(archive.subarray(0, 5000))
    setImmediate(() => response.destroy())
  }
  t.match(await run('docker', 'shop/short:1'), { code: 1, output: /broke off: aborted|is truncated/ })
  const engineStore = new ImageStore(join(place, 'store'))
  t.same(
    engineStore.images.all().map(({ name }) => name),
    ['docker.io/shop/engine:1'],
    'a lie leaves nothing',
  )

  const ctr = `#!/bin/sh\ncase "$*" in *"-n k8s.io images ls -q") echo docker.io/shop/engine:1;; *"k8s.io images export - docker.io/shop/engine:1") cat '${join(place, 'saved.tar')}';; *"images ls -q") ;; *) echo "ctr: no" >&2; exit 1;; esac\n`
  writeFileSync(join(place, 'saved.tar'), archive)
  writeFileSync(join(place, 'ctr'), ctr, { mode: 0o755 })
  t.same(await run('containerd'), isLoaded)
  t.same(await run('containerd', 'shop/engine:1'), isLoaded)
  t.match(await run('containerd', 'missing'), {
    code: 1,
    output: /containerd has no image docker.io\/library\/missing:latest/,
  })
  await new Promise((resolve) => engine.close(resolve))
  t.match(await run('docker', 'shop/engine:1'), { code: 1, output: /no Docker runs: nothing answers at .*docker.sock/ })
  t.match(await run('containerd', 'shop/engine:1'), { code: 1, output: /no containerd runs: there is no / })
})

t.test('several clusters share a store', { skip }, async (t) => {
  const store = join(folder, 'shared')
  mkdirSync(store)
  const [loaded] = await loadImages(new ImageStore(store), await saved('shared:1'))
  const { client } = await startTestCluster(t, `--image-store=${store}`)
  const node = await client.get<Node>(nodes, { name: 'node-1' })
  t.same(node.status?.images, [{ names: ['docker.io/library/shared:1'], sizeBytes: loaded?.bytes }])
  await client.create(
    pods,
    {
      metadata: { name: 'a', namespace },
      spec: { containers: [{ name: 'a', image: 'shared:1', command: ['id'] }], restartPolicy: 'Never' },
    },
    { namespace },
  )
  const a = await followPod(client, { namespace, name: 'a' })
  const pod = await a.until(({ status }) => status?.phase === 'Succeeded', 'ends')
  t.match(pod.status?.containerStatuses?.[0]?.imageID, /^sha256:/)
})
