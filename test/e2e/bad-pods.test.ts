/** Pods that ask for too much, and programs that do their worst: each ends when it is deleted, and the kubelet goes on. */
import t, { type Test } from 'tap'
import type { Pod } from '../../shared/api/types.ts'
import { pods } from '../../shared/client/resources.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { startTestCluster } from '../harness/cluster.ts'
import { deafScript, followPod, isReady, podOf, politeScript } from '../harness/pods.ts'
import { processesWith } from '../harness/processes.ts'

const { client } = await startTestCluster(t)
const namespace = 'default'
const GRACE_SECONDS = 2
/** Two seconds for the process after its hook, and what a busy machine needs; what hangs here hangs for a quarter of an hour. */
const MARGIN_MS = 60_000
const marker = `bad-pod-${process.pid}`

type Change = (container: Pod['spec']['containers'][number], pod: Pod) => void
interface BadPod {
  script?: string
  hook?: string
  /** Whether it gets ready at all. Default: yes. */
  runs?: boolean
  change?: Change
}

const shell = (script: string): string[] => ['sh', '-c', `: ${marker}; ${script}`]
const badPods: Record<string, BadPod> = {
  stopped: { script: `kill -STOP $$; ${politeScript}` },
  forks: { script: `(setsid sh -c ': ${marker}; ${deafScript}' &) ; (setsid sleep 1000 &); ${politeScript}` },
  silent: { script: `exec >&- 2>&-; ${politeScript}` },
  loud: { script: 'yes 0123456789 | head -c 30000000; exec sleep 1000' },
  'hook-prints': { script: politeScript, hook: 'yes 0123456789 | head -c 10000000' },
  'hook-hangs': { script: politeScript, hook: 'sleep 1000' },
  'hook-leaves': { script: politeScript, hook: `setsid sh -c ': ${marker}; sleep 1000' >/dev/null 2>&1 & exit 0` },
  'hook-is-none': {
    script: politeScript,
    change: (c) => (c.lifecycle = { preStop: { exec: { command: ['/no/such'] } } }),
  },
  'huge-variable': { runs: false, change: (c) => (c.env = [{ name: 'X', value: 'x'.repeat(300_000) }]) },
  'many-variables': {
    script: politeScript,
    change: (c) =>
      (c.env = Array.from({ length: 2_000 }, (_, n) => ({ name: `V${n}`, value: `$(V${n - 1})x`.slice(0, 40) }))),
  },
  'odd-words': {
    runs: false,
    change: (c) => (c.command = ['/bin/echo', 'a\nb', "it's", '"$HOME"', '`id`', '\u0000', '\u{1F4A9}', '']),
  },
  'odd-folder': { runs: false, change: (c) => (c.workingDir = "/proc/1/it's\n nowhere") },
  'endless-grace': {
    script: politeScript,
    change: (_, pod) => (pod.spec.terminationGracePeriodSeconds = Number.MAX_SAFE_INTEGER),
  },
  'endless-probe': {
    script: politeScript,
    change: (c) => {
      const never = 2 ** 31 - 1
      const times = { initialDelaySeconds: never, periodSeconds: never, timeoutSeconds: never, failureThreshold: never }
      c.livenessProbe = { exec: { command: ['true'] }, ...times }
    },
  },
  'unknown-fields': {
    script: politeScript,
    change: (c, pod) => Object.assign(pod.spec, { nonsense: [1, { a: null }] }) && Object.assign(c, { nonsense: 'x' }),
  },
}

async function endsInTime(t: Test, name: string, { script = politeScript, hook, runs = true, change }: BadPod) {
  const preStop = hook ? { exec: { command: ['sh', '-c', hook] } } : undefined
  const spec = { terminationGracePeriodSeconds: GRACE_SECONDS }
  const pod = podOf({ name, command: shell(script), preStop, spec })
  change?.(pod.spec.containers[0]!, pod)
  await client.create(pods, pod, { namespace })
  const followed = await followPod(client, { namespace, name })
  const settled = (pod: Pod): boolean =>
    runs ? isReady(pod) : (pod.status?.containerStatuses ?? []).some(({ state }) => state && !state.running)
  await followed.until(settled, 'to run, or to say why not')
  const deletedMs = realClock.monotonic()
  await client.delete(pods, { namespace, name })
  await followed.untilDeleted()
  const tookMs = realClock.monotonic() - deletedMs
  t.ok(tookMs < GRACE_SECONDS * 1000 + MARGIN_MS, 'it ended in time', { tookMs })
}

t.test('each ends in time', { jobs: 4 }, async (t) => {
  for (const [name, pod] of Object.entries(badPods)) t.test(name, (t) => endsInTime(t, name, pod))
})

t.test('and afterwards', async (t) => {
  t.same(processesWith(marker), [], 'nothing runs of any of them')
})
