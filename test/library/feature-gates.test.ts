/** Feature gates of pods and their endpoints, on and off, with real processes. */
import t from 'tap'
import { resources } from '../../library/index.ts'
import { isStatus } from '../../shared/api/status/status-error.ts'
import type { Pod, Service } from '../../shared/api/types.ts'
import type { EndpointSlice } from '../../shared/api/workloads/workloads.ts'
import { endpointSlices, services } from '../../shared/client/resources.ts'
import { followPod, isReady, untilHandled } from '../harness/pods.ts'
import { until } from '../harness/until.ts'
import { namespace, start } from './stage.ts'

const { pods } = resources
const script = 'trap "sleep 2; exit 7" USR1; trap "sleep 2; exit 8" TERM; while :; do sleep 0.05; done'
const podWith = (name: string, stopSignal?: string, os?: string): Pod => ({
  metadata: { name, namespace, labels: { app: 'web' } },
  spec: {
    ...(os && { os: { name: os } }),
    containers: [
      { name: 'c', image: 'busybox', command: ['sh', '-c', script], ...(stopSignal && { lifecycle: { stopSignal } }) },
    ],
  },
})
const service: Service = {
  metadata: { name: 'web', namespace },
  spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
} as Service

for (const changed of [false, true]) {
  t.test(changed ? 'each gate other than by default' : 'by default', async (t) => {
    const featureGates = {
      PodReadyToStartContainersCondition: false,
      EndpointSliceTerminatingCondition: false,
      ContainerStopSignals: true,
    }
    const cluster = await start(t, { nodes: 1, shutdownGracePeriod: '0s', ...(changed && { featureGates }) })
    const { client } = cluster
    await client.create(services, service)
    await client.create(pods, podWith('p', 'SIGUSR1', 'linux'))
    const followed = await followPod(client, { namespace, name: 'p' })
    const pod = await followed.until(isReady, 'to be ready')
    await untilHandled(pod)
    t.equal(pod.spec.containers[0]?.lifecycle?.stopSignal, changed ? 'SIGUSR1' : undefined)
    const types = new Set(followed.events.flatMap(({ object }) => object.status?.conditions?.map(({ type }) => type)))
    t.equal(types.has('PodReadyToStartContainers'), !changed, 'PodReadyToStartContainers, as its gate says')
    const told = pod.status?.containerStatuses?.[0] as { stopSignal?: string } | undefined
    t.equal(told?.stopSignal, changed ? 'SIGUSR1' : undefined)

    const ofService = { namespace, labelSelector: 'kubernetes.io/service-name=web' }
    const endpoints = async () => (await client.list<EndpointSlice>(endpointSlices, ofService)).items[0]?.endpoints
    const [endpoint] = await until(async () => ((await endpoints())?.length ? endpoints() : undefined), {
      what: 'an endpoint',
    }).then((found) => found ?? [])
    t.same(endpoint?.conditions, changed ? { ready: true } : { ready: true, serving: true, terminating: false })

    await client.delete(pods, { namespace, name: 'p' })
    const isTold = async (): Promise<boolean> => {
      const found = (await endpoints()) ?? []
      return changed ? found.length === 0 : found[0]?.conditions?.terminating === true
    }
    await until(isTold, { what: changed ? 'its endpoint to go' : 'its endpoint to be terminating' })
    const going = await client.get<Pod>(pods, { namespace, name: 'p' })
    t.ok(
      going.metadata.deletionTimestamp,
      'its endpoint goes or is terminating, as its gate says, while the pod is there',
    )
    const last = (await followed.untilDeleted()).at(-1)?.object
    t.equal(last?.status?.containerStatuses?.[0]?.state?.terminated?.exitCode, changed ? 7 : 8)

    const refusal = async (pod: Pod): Promise<string> => {
      try {
        await client.create(pods, pod)
        return 'created'
      } catch (error) {
        if (!isStatus(error, 'Invalid')) throw error
        return error.message
      }
    }
    const path = 'spec.containers[0].lifecycle.stopSignal'
    t.match(
      await refusal(podWith('no-os', 'SIGUSR1')),
      changed ? `${path}: Forbidden: may not be set for containers with empty \`spec.os.name\`` : 'created',
    )
    t.match(
      await refusal(podWith('wrong', 'SIGNAL', 'linux')),
      changed ? `${path}: Unsupported value: "SIGNAL": supported values: "SIGABRT", "SIGALRM", "SIGBUS"` : 'created',
    )
  })
}
