/**
 * What a request through a cluster IP takes, beside one to the pod itself: from a pod to a pod of a cluster with
 * networks of pods, each by a connection of its own, both in turns.
 */

import type { Pod, Service } from '../shared/api/types.ts'
import type { Client } from '../shared/client/client.ts'
import { loadKubeconfig } from '../shared/client/kubeconfig.ts'
import { pods, services } from '../shared/client/resources.ts'
import { createRestClient } from '../shared/client/rest-client.ts'
import { realClock } from '../shared/clock/real-clock.ts'
import { median } from './load.ts'
import { NAMESPACE } from './measure.ts'

const COUNT = 600
const TIMEOUT_MS = 120_000
const server = `require('net').createServer((socket) => { socket.on('data', () => socket.end('HTTP/1.1 204 No Content\\r\\nConnection: close\\r\\n\\r\\n')).on('error', () => {}) }).listen(80)`
/** Waits for the Service, asks both in turns, and prints the times in ms. */
const client = (direct: string, service: string): string => `
const { connect } = require('net')
const ask = (host) => new Promise((resolve, reject) => {
  const started = performance.now()
  const socket = connect(80, host, () => socket.write('GET / HTTP/1.1\\r\\nHost: bench\\r\\n\\r\\n'))
  socket.resume().on('error', reject).on('end', () => resolve(performance.now() - started))
})
const times = { direct: [], service: [] }
const run = async () => {
  while (!(await ask('${service}').then(() => true, () => new Promise((resolve) => setTimeout(resolve, 50))))) {}
  for (let i = 0; i < 2 * ${COUNT}; i++) {
    const [direct, service] = [await ask('${direct}'), await ask('${service}')]
    if (i < ${COUNT}) continue
    times.direct.push(direct)
    times.service.push(service)
  }
  const half = (all) => all.sort((a, b) => a - b)[all.length >> 1]
  require('fs').writeFileSync('/dev/termination-log', JSON.stringify({ direct: half(times.direct), service: half(times.service) }))
}
run()`

export interface RequestFigures {
  directMs: number
  serviceMs: number
}

/** Measures in the cluster of this kubeconfig, so many times; the medians count. */
export async function measureServiceRequests(kubeconfig: string, rounds: number): Promise<RequestFigures> {
  const api = createRestClient({ ...(await loadKubeconfig(kubeconfig)), clock: realClock })
  try {
    await api.create(pods, podOf('server', server), { namespace: NAMESPACE })
    const spec = { selector: { app: 'server' }, ports: [{ port: 80 }] }
    const service = await api.create<Service>(services, { metadata: { name: 'server', namespace: NAMESPACE }, spec })
    const running = await until(api, 'server', ({ status }) => status?.phase === 'Running')
    const found: RequestFigures[] = []
    for (let i = 0; i < rounds; i++) {
      const code = client(running.status?.podIP ?? '', service.spec?.clusterIP ?? '')
      await api.create(pods, podOf(`client-${i}`, code), { namespace: NAMESPACE })
      const { status } = await until(api, `client-${i}`, (pod) => pod.status?.phase === 'Succeeded')
      const said = status?.containerStatuses?.[0]?.state?.terminated?.message ?? '{}'
      const { direct, service: through } = JSON.parse(said) as { direct: number; service: number }
      found.push({ directMs: direct, serviceMs: through })
    }
    return {
      directMs: median(found.map(({ directMs }) => directMs)),
      serviceMs: median(found.map(({ serviceMs }) => serviceMs)),
    }
  } finally {
    await api.close()
  }
}

const podOf = (name: string, code: string): Pod => ({
  metadata: { name, namespace: NAMESPACE, labels: { app: name } },
  spec: {
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'main', image: 'node', command: [process.execPath, '-e', code] }],
  },
})

async function until(api: Client, name: string, is: (pod: Pod) => boolean): Promise<Pod> {
  for (const deadlineMs = realClock.monotonic() + TIMEOUT_MS; ; await realClock.sleep(100)) {
    const pod = await api.get<Pod>(pods, { namespace: NAMESPACE, name })
    if (is(pod)) return pod
    if (realClock.monotonic() > deadlineMs) throw new Error(`pod ${name} is ${pod.status?.phase}`)
  }
}
