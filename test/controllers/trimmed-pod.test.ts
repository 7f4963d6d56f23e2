import t from 'tap'
import { type TrimmedPod, trimPod } from '../../controllers/informers/trimmed-pod.ts'
import { hasEnded } from '../../shared/api/pods/pod-phase.ts'
import type { Container, Pod, PodSpec } from '../../shared/api/types.ts'

const whole: Pod = {
  metadata: {
    name: 'web',
    uid: 'u',
    annotations: { 'example.com/note': 'long', 'controller.kubernetes.io/pod-deletion-cost': '5' },
    managedFields: [{ manager: 'kubectl' }],
  },
  spec: {
    nodeName: 'n',
    serviceAccountName: 'default',
    containers: [{ name: 'app', image: 'app:1', stdinOnce: true, ports: [{ containerPort: 80 }] }],
    volumes: [
      { name: 'data', persistentVolumeClaim: { claimName: 'c' } },
      { name: 'tmp', emptyDir: {} },
    ],
  },
  status: { phase: 'Succeeded', qosClass: 'BestEffort', hostIPs: [] },
}

t.test('a trimmed pod keeps what control loops read', async (t) => {
  const { metadata, spec, status } = JSON.parse(JSON.stringify(trimPod(whole)))
  t.strictSame(metadata, {
    name: 'web',
    uid: 'u',
    annotations: { 'controller.kubernetes.io/pod-deletion-cost': '5' },
  })
  t.strictSame(spec, {
    nodeName: 'n',
    containers: [{ name: 'app', image: 'app:1', ports: [{ containerPort: 80 }] }],
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'c' } }],
  })
  t.strictSame(status, { phase: 'Succeeded' })
})

/** The type check is the test: a directive without an error below it is an error itself. */
t.test(
  'a loop that reads what is trimmed does not compile, nor one that takes a trimmed pod for a whole one',
  async (t) => {
    const trimmed: TrimmedPod = trimPod(whole)
    // @ts-expect-error
    t.notOk(trimmed.spec.serviceAccountName)
    // @ts-expect-error
    t.notOk(trimmed.status?.qosClass)
    // @ts-expect-error
    t.notOk(trimmed.metadata.managedFields)
    const takePod = ({ spec }: Pod) => spec.serviceAccountName
    // @ts-expect-error
    t.notOk(takePod(trimmed))
    const takeSpec = ({ serviceAccountName }: PodSpec) => serviceAccountName
    // @ts-expect-error
    t.notOk(takeSpec(trimmed.spec))
    const takeContainer = ({ stdinOnce }: Container) => stdinOnce
    // @ts-expect-error
    t.notOk(takeContainer(trimmed.spec.containers[0]!))
    const takeStatus = (status: Pod['status']) => status?.qosClass
    // @ts-expect-error
    t.notOk(takeStatus(trimmed.status))
    t.ok(hasEnded(trimmed) && hasEnded(whole), 'what reads a kept field takes both')
  },
)
