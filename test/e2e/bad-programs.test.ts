import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { nodes, pods } from '../../shared/client/resources.ts'
import { programOf, startTestCluster, type TestCluster } from '../harness/cluster.ts'
import { deafScript, followPod, podOf, politeScript, untilHandled } from '../harness/pods.ts'
import { processesWith } from '../harness/processes.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const namespace = 'default'

interface BadProgram {
  name: string
  /** Of the container; a `MARK` in it is in the command line of what it leaves running. */
  script: string
  preStop?: string
  /** It ends by itself, and is not started again. */
  ends?: boolean
  graceSeconds: number
  exitCode: number
  reason: 'Completed' | 'Error'
}

const programs: BadProgram[] = [
  {
    name: 'loud-hook',
    script: politeScript,
    preStop: 'yes loud | head -c 100000000',
    graceSeconds: 120,
    exitCode: 0,
    reason: 'Completed',
  },
  {
    name: 'loud-program',
    script: `trap "exit 0" TERM; yes loud | head -c 50000000; ${politeScript}`,
    graceSeconds: 120,
    exitCode: 0,
    reason: 'Completed',
  },
  {
    name: 'hook-leaves',
    script: politeScript,
    preStop: `setsid sh -c ': MARK; ${deafScript.replaceAll('"', '')}' >/dev/null 2>&1 &`,
    graceSeconds: 30,
    exitCode: 0,
    reason: 'Completed',
  },
  {
    name: 'double-fork',
    script: `(setsid sh -c ': MARK; sleep 1000' &) ; sleep 0.2; exit 3`,
    ends: true,
    graceSeconds: 30,
    exitCode: 3,
    reason: 'Error',
  },
  {
    name: 'no-output',
    script: `exec >&- 2>&-; ${politeScript}`,
    graceSeconds: 30,
    exitCode: 0,
    reason: 'Completed',
  },
  { name: 'stopped', script: `: STOPPED; ${politeScript}`, graceSeconds: 1, exitCode: 137, reason: 'Error' },
  {
    name: 'stopped-hook',
    script: politeScript,
    preStop: 'kill -STOP $$',
    graceSeconds: 1,
    exitCode: 0,
    reason: 'Completed',
  },
]

for (const isolation of ['none', 'pod'] as const) {
  t.test(`programs that behave badly end as any others: isolation ${isolation}`, async (t) => {
    const cluster = await startTestCluster(t, `--isolation=${isolation}`)
    const node = await cluster.client.get(nodes, { name: 'node-1' })
    if (isolation === 'pod' && node.metadata.labels?.['kubestage.dev/isolation'] !== 'pod')
      return skipOrFail(t, 'this machine gives us no namespaces')
    const before = kubeletMegabytes(cluster)
    const mark = `bad-${isolation}-${process.pid}`
    await Promise.all(programs.map((program) => ends(t, cluster, program, mark)))
    await until(() => processesWith(mark).length === 0, { what: 'what they left to be gone' })
    t.ok(kubeletMegabytes(cluster) < before + 120, 'the kubelet does not keep the 150 MB that they said')
  })
}

async function ends(t: Test, { client }: TestCluster, program: BadProgram, mark: string): Promise<void> {
  const { name, script, preStop, graceSeconds } = program
  const marked = (text: string) => ['sh', '-c', text.replace('MARK', mark).replace('STOPPED', `${mark}-stopped`)]
  await client.create(
    pods,
    podOf({
      name,
      command: marked(script),
      ...(preStop && { preStop: { exec: { command: marked(preStop) } } }),
      spec: { terminationGracePeriodSeconds: graceSeconds, ...(program.ends && { restartPolicy: 'Never' }) },
    }),
    { namespace },
  )
  const pod = await followPod(client, { namespace, name })
  if (program.ends) await pod.until(({ status }) => status?.phase === 'Failed', 'to have ended')
  else await untilHandled(await pod.until(({ status }) => status?.phase === 'Running', 'to run'))
  // Only its own test stops it: another one would do so before it handles TERM.
  if (name === 'stopped') for (const pid of processesWith(`: ${mark}-stopped`)) process.kill(pid, 'SIGSTOP')
  await client.delete(pods, { namespace, name })
  const events = await pod.untilDeleted()
  const last = events.findLast(({ type }) => type === 'MODIFIED')?.object
  const { exitCode, reason } = program
  t.match(last?.status?.containerStatuses?.[0]?.state?.terminated, { exitCode, reason }, name)
}

function kubeletMegabytes({ process }: TestCluster): number {
  const kubelet = processesWith(programOf('kubelet')).find((pid) => parentOf(pid) === process.child.pid)
  const [, kibibytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${kubelet}/status`, 'utf8')) ?? []
  return Number(kibibytes) / 1024
}

const parentOf = (pid: number): number =>
  Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
