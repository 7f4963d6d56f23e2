import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Pod, WatchEvent } from '../../shared/api/types.ts'
import { loadKubeconfig } from '../../shared/client/kubeconfig.ts'
import { pods } from '../../shared/client/resources.ts'
import { createRestClient } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import type { Cluster } from '../cluster.ts'
import { packageRoot } from '../package.ts'
import { describeChange, isReady } from './describe-pod.ts'
import { followLog } from './follow-log.ts'
import type { Narrator } from './narrator.ts'

const manifest = 'examples/graceful-delete/pod.yaml'
const reason = 'Update'
const namespace = 'default'
/** What the hooks of the example print when they are told. */
const expected = [`KUBE_POD_TERM_REASON=${reason}`, `preStop: KUBE-POD-TERM-REASON: ${reason}`]

/** A pod is created, runs, is deleted for a reason, and is gone. Resolves to whether its hooks were told the reason. */
export async function tellStory(cluster: Cluster, narrator: Narrator): Promise<boolean> {
  const access = await loadKubeconfig(cluster.state.kubeconfig)
  const client = createRestClient({ ...access, clock: realClock })
  const { load } = await import('js-yaml')
  const pod = load(await readFile(join(packageRoot, manifest), 'utf8')) as Pod
  const name = pod.metadata.name ?? ''
  const printed: string[] = []
  let told = ''
  const watch = client.watch<Pod>(pods, { namespace, fieldSelector: `metadata.name=${name}` })[Symbol.asyncIterator]()
  const watchUntil = async (isEnough: (event: WatchEvent<Pod>) => boolean): Promise<void> => {
    for (;;) {
      const { done, value } = await watch.next()
      if (done) throw new Error('the watch ended before the story did')
      const change = describeChange(value)
      if (change !== told) narrator.seen('watch', change)
      told = change
      if (isEnough(value)) return
    }
  }

  narrator.chapter('A cluster of its own')
  narrator.aside(`${cluster.url}, node-1 is Ready`)

  narrator.chapter('A pod with two containers, each a process with a preStop hook')
  narrator.typed(`kubectl apply -f ${manifest}`)
  await client.create(pods, pod, { namespace })
  await watchUntil(({ object }) => isReady(object))
  narrator.typed(`kubectl logs -f ${name} --all-containers`)
  const greeted = pod.spec.containers.map(() => Promise.withResolvers<void>())
  const logs = pod.spec.containers.map(({ name: container }, index) =>
    followLog({
      server: access.server,
      ca: access.ca ?? '',
      user: { cert: access.cert ?? '', key: access.key ?? '' },
      namespace,
      pod: name,
      container,
      onLine(line) {
        printed.push(line)
        narrator.seen(container, line)
        greeted[index]?.resolve()
      },
    }),
  )
  await Promise.all(greeted.map(({ promise }) => promise))

  narrator.chapter('It is deleted for a reason')
  narrator.typed(`kubectl delete pod ${name} --reason=${reason}`)
  await client.delete(pods, { namespace, name }, { reason })
  await watchUntil(({ type }) => type === 'DELETED')
  await Promise.all(logs)
  await client.close()

  const missing = expected.filter((line) => !printed.includes(line))
  narrator.chapter(missing.length ? 'Something is missing' : 'Both hooks were told why')
  for (const line of missing) narrator.aside(`no container printed: ${line}`)
  return missing.length === 0
}
