/** Images that pods need come from a registry, with the passwords that pods have, as kubectl shows it. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import type { Pod, PodSpec } from '../../shared/api/types.ts'
import { archiveOf } from '../harness/archive-of.ts'
import { busyboxRoot, noBusybox } from '../harness/busybox-root.ts'
import { startCommand, startTestCluster } from '../harness/cluster.ts'
import { noDockerRegistry, startDockerRegistry } from '../harness/docker-registry.ts'
import { findKubectls, kubectlSays } from '../harness/kubectl.ts'
import { followPod } from '../harness/pods.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const folder = scratchFolder(t, 'docker-registry')
const kubectl = findKubectls().at(-1)
const skip =
  noDockerRegistry || (busyboxRoot(join(folder, 'root')) ? false : noBusybox) || (kubectl ? false : 'no kubectl')

t.test('a registry with a password', async (t) => {
  if (skip || !kubectl) return skipOrFail(t, String(skip))
  const registry = await startDockerRegistry(t)
  const config = { Entrypoint: ['sh', '-c', 'cat /etc/os-release; exec sleep 1000'], Env: ['PATH=/bin'] }
  const layers = [await archiveOf(join(folder, 'root'))]
  await registry.push('shop/web', '2', { layers, config })
  const cluster = await startTestCluster(t)
  const { client, stateDir } = cluster
  const says = (...args: string[]) => kubectlSays(t, kubectl, cluster.kubeconfig, args)
  const apply = (pod: object) => kubectlSays(t, kubectl, cluster.kubeconfig, ['apply', '-f', '-'], JSON.stringify(pod))
  const image = `${registry.host}/shop/web:2`
  const podOf = (name: string, spec: Partial<PodSpec> = {}, of = image) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { containers: [{ name: 'main', image: of }], terminationGracePeriodSeconds: 1, ...spec },
  })
  const runs = async (name: string): Promise<Pod> =>
    (await followPod(client, { namespace: 'default', name })).until(({ status }) => status?.phase === 'Running', 'runs')
  /** The messages of the events of a pod with this reason, as soon as there are any. */
  const told = (name: string, reason: string): Promise<string[]> =>
    until(
      async () => {
        const query = `involvedObject.name=${name},reason=${reason}`
        const { items } = JSON.parse(await says('get', 'events', '--field-selector', query, '-o', 'json'))
        return items.length > 0 && items.map(({ message }: { message: string }) => message)
      },
      { what: `${reason} of ${name}` },
    )
  const secret = (name: string, password: string) =>
    says(
      ...['create', 'secret', 'docker-registry', name, `--docker-server=${registry.host}`],
      ...['--docker-username=anna', `--docker-password=${password}`],
    )
  await secret('right', 'sesame')
  await secret('wrong', 'guess')
  const head = (repository: string, tag: string, host = registry.host) =>
    `Head "https://${host}/v2/${repository}/manifests/${tag}"`
  const failed = (name: string, code: '' | 'NotFound', why: string) =>
    `Failed to pull image "${name}": ${code && `rpc error: code = ${code} desc = `}failed to pull and unpack image "${name}": failed to resolve image: ${why}`

  await t.test('refuses a pod without one, or with another', async (t) => {
    await apply(podOf('nobody'))
    await apply(podOf('guesser', { imagePullSecrets: [{ name: 'wrong' }] }))
    const denied = 'pull access denied, repository does not exist or may require authorization'
    t.ok(
      (await told('nobody', 'Failed')).includes(
        failed(image, '', `${denied}: authorization failed: no basic auth credentials`),
      ),
    )
    const url = `http://${registry.host}/v2/shop/web/manifests/2`
    const status = `unexpected status from HEAD request to ${url}: 401 Unauthorized`
    t.ok((await told('guesser', 'Failed')).includes(failed(image, '', status)))
    t.same(await told('guesser', 'BackOff'), [`Back-off pulling image "${image}"`])
    t.match(await says('get', 'pods', 'guesser'), /(?:ErrImagePull|ImagePullBackOff)/)
    t.match(await says('describe', 'pod', 'guesser'), /Error: ErrImagePull/)
  })

  await t.test('lets a pod with the right one in', async (t) => {
    await apply(podOf('anna', { imagePullSecrets: [{ name: 'gone' }, { name: 'wrong' }, { name: 'right' }] }))
    const { status } = await runs('anna')
    t.match(status?.containerStatuses?.[0], {
      image,
      imageID: new RegExp(`^${registry.host}/shop/web@sha256:[0-9a-f]{64}$`),
    })
    t.match(await says('logs', 'anna'), 'ID=small')
    t.same(await told('anna', 'Pulling'), [`Pulling image "${image}"`])
    t.match(await told('anna', 'Pulled'), [
      new RegExp(
        `^Successfully pulled image "${image}" in [\\d.]+m?s \\([\\d.]+m?s including waiting\\)\\. Image size: [1-9]\\d+ bytes\\.$`,
      ),
    ])
    t.same(await told('anna', 'FailedToRetrieveImagePullSecret'), [
      'Unable to retrieve some image pull secrets (gone); attempting to pull the image may not succeed.',
    ])
  })

  await t.test('is not asked for what is there, except by policy', async (t) => {
    const present = `Container image "${image}" already present on machine and can be accessed by the pod`
    await apply(podOf('present', { imagePullSecrets: [{ name: 'right' }] }))
    await runs('present')
    t.same(await told('present', 'Pulled'), [present])
    await secret('copy', 'sesame')
    await apply(podOf('present-copy', { imagePullSecrets: [{ name: 'copy' }] }))
    await runs('present-copy')
    t.same(await told('present-copy', 'Pulled'), [present], 'another secret says the same')

    await apply(podOf('stranger'))
    t.match((await told('stranger', 'Failed')).join('\n'), /no basic auth credentials/, 'the image is not for all pods')
    const never = [{ name: 'main', image, imagePullPolicy: 'Never' as const }]
    await apply(podOf('never', { containers: never }))
    t.same(await told('never', 'ErrImageNeverPull'), [
      `Container image "${image}" is not present with pull policy of Never`,
    ])
    await apply(podOf('never-anna', { containers: never, imagePullSecrets: [{ name: 'copy' }] }))
    await runs('never-anna')

    const containers = [{ name: 'main', image, imagePullPolicy: 'Always' as const }]
    await apply(podOf('always', { containers }))
    t.match((await told('always', 'Failed')).join('\n'), /no basic auth credentials/)
    await apply(podOf('always-anna', { containers, imagePullSecrets: [{ name: 'right' }] }))
    await runs('always-anna')
    t.match(await told('always-anna', 'Pulled'), [/^Successfully pulled image/])
  })

  await t.test('the password of a service account, of docker login, and of another namespace', async (t) => {
    await registry.push('shop/api', '1', { layers, config })
    await says('patch', 'serviceaccount', 'default', '-p', '{"imagePullSecrets":[{"name":"right"}]}')
    await apply(podOf('account', {}, `${registry.host}/shop/api:1`))
    await runs('account')

    await registry.push('shop/db', '1', { layers, config })
    const name = `${registry.host}/shop/db:1`
    const auths = { [`http://${registry.host}`]: { auth: Buffer.from('anna:sesame').toString('base64') } }
    const docker = join(folder, 'docker')
    mkdirSync(docker)
    const pull = async () => {
      const args = ['image', 'pull', name, `--state-dir=${stateDir}`]
      const command = startCommand(t, args, {
        variables: { DOCKER_CONFIG: docker, PATH: `${docker}:${process.env.PATH}` },
      })
      return { code: await command.ended, output: command.output() }
    }
    t.match(await pull(), {
      code: 1,
      output: /^kubestage: failed to pull and unpack image "\S+": .*: no basic auth credentials\n$/,
    })
    const helper = (script: string) =>
      writeFileSync(join(docker, 'docker-credential-test'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    const configure = (config: object) => writeFileSync(join(docker, 'config.json'), JSON.stringify(config))
    configure({ credsStore: 'none', credHelpers: { [registry.host]: 'test' } })
    helper('sleep 1000 & echo "credentials not found in native keychain"; exit 1')
    t.match(await pull(), { code: 1, output: /^kubestage: failed to pull .*: no basic auth credentials\n$/ })
    helper('echo out of order; exit 2')
    t.match(await pull(), {
      code: 1,
      output: /docker-credential-test ended with 2: out of order; the registry is asked/,
    })
    helper(`read server; [ "$1 $server" = "get ${registry.host}" ] && echo '{"Username":"anna","Secret":"sesame"}'`)
    t.same(await pull(), { code: 0, output: `${name} is pulled\n` })
    configure({ auths })
    t.same(await pull(), { code: 0, output: `${name} is pulled\n` })
    await apply(podOf('db', { imagePullSecrets: [{ name: 'wrong' }] }, name))
    await runs('db')
  })

  await t.test('a tag that is not there, and a registry that is not there', async (t) => {
    const nope = `${registry.host}/shop/web:nope`
    await apply(podOf('nope', { imagePullSecrets: [{ name: 'right' }] }, nope))
    t.ok((await told('nope', 'Failed')).includes(failed(nope, 'NotFound', `${nope}: not found`)))
    const closed = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => closed.once('listening', resolve))
    const host = `127.0.0.1:${(closed.address() as AddressInfo).port}`
    await new Promise((resolve) => closed.close(resolve))
    await apply(podOf('refused', {}, `${host}/web:1`))
    const why = `failed to do request: ${head('web', '1', host)}: dial tcp ${host}: connect: connection refused`
    t.ok((await told('refused', 'Failed')).includes(failed(`${host}/web:1`, '', why)))
  })
})
