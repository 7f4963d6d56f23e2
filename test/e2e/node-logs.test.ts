/** A log collector finds the logs of a node's pods in `/var/log/pods` and `/var/log/containers`, as on a real node. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { possibleIsolation } from '../../kubelet/runtime/process/index.ts'
import type { Pod } from '../../shared/api/types.ts'
import { namespaces, pods } from '../../shared/client/resources.ts'
import { startTestCluster } from '../harness/cluster.ts'
import { followPod, podOf, politeScript } from '../harness/pods.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const spaces = ['first', 'second']
/** Writes `<path>|<its target>|<first line>` of each log that it finds. It prints nothing, or its own log would be among them. */
const collect = (out: string, ...patterns: string[]): string => `
while :; do
  for log in ${patterns.join(' ')}; do
    [ -e "$log" ] && echo "$log|$(readlink "$log")|$(head -n 1 "$log")"
  done >${out}/new 2>/dev/null
  mv ${out}/new ${out}/seen
  sleep 0.1
done`
/** Its second run waits for a file; the third goes on. */
const talker = (out: string): string => `
echo "$POD_NAMESPACE says run $(wc -l <${out}/$POD_NAMESPACE)"
echo ran >>${out}/$POD_NAMESPACE
case $(wc -l <${out}/$POD_NAMESPACE) in
  1) exit 1;;
  2) until [ -e ${out}/go ]; do sleep 0.05; done; exit 1;;
esac
${politeScript}`

interface Seen {
  file: string
  target: string
  line: string
}

async function watchLogs(t: Test, mounted: Record<string, string>, patterns: string[], ...flags: string[]) {
  const out = scratchFolder(t, 'out')
  const seen = (): Seen[] => {
    const lines = existsSync(join(out, 'seen')) ? readFileSync(join(out, 'seen'), 'utf8').split('\n') : []
    return lines.filter(Boolean).map((text) => {
      const [file = '', target = '', line = ''] = text.split('|')
      return { file, target, line }
    })
  }
  const { client } = await startTestCluster(t, '--crash-loop-back-off-initial=100ms', ...flags)
  const collector = podOf({ name: 'collector', command: ['sh', '-c', collect(out, ...patterns)], hostFolder: out })
  for (const [mountPath, path] of Object.entries(mounted)) {
    const name = `v${collector.spec.volumes!.length}`
    collector.spec.volumes!.push({ name, hostPath: { path, type: 'Directory' } })
    collector.spec.containers[0]!.volumeMounts!.push({ name, mountPath, readOnly: true })
  }
  await client.create<Pod>(pods, collector, { namespace: 'default' })
  const uids: string[] = []
  for (const namespace of spaces) {
    await client.create(namespaces, { metadata: { name: namespace } })
    writeFileSync(join(out, namespace), '')
    const env = [{ name: 'POD_NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } }]
    const pod = podOf({ name: 'talker', command: ['sh', '-c', talker(out)], hostFolder: out, env })
    uids.push((await client.create<Pod>(pods, pod, { namespace })).metadata.uid ?? '')
  }
  return { client, out, seen, uids }
}

const expected = (uids: string[], runs: number[]): string[] =>
  uids.flatMap((uid, index) =>
    runs.map((run) => `${spaces[index]}_talker_${uid}/main/${run}.log ${spaces[index]} ${run}`),
  )
/** As {@link expected}, of the logs that the collector finds below a folder of pods, or by links that lead there. */
const found = (seen: Seen[], folder: string): string[] =>
  seen
    .filter(({ file }) => file.startsWith(folder))
    .map(({ file, target, line }) => {
      const [, place] = /\/pods\/(.*)$/.exec(target || file) ?? []
      const [, space, run] = /^\S+T\S+\.\d{9}Z stdout F (\w+) says run (\d)$/.exec(line) ?? []
      return `${place} ${space} ${run}`
    })
    .sort()

async function livesOfLogs(
  t: Test,
  { client, out, seen, uids }: Awaited<ReturnType<typeof watchLogs>>,
  places: string[],
) {
  const areThere = (wanted: string[], what: string) =>
    until(() => places.every((place) => found(seen(), place).join() === wanted.join()) || undefined, { what }).catch(
      async (error) => {
        for (const place of places) t.comment(`${place}: ${found(seen(), place).join(', ')}`)
        const all = await client.list<Pod>(pods, {})
        t.comment(
          JSON.stringify(
            all.items.map(({ metadata, status }) => [
              metadata.name,
              metadata.namespace,
              status?.phase,
              status?.containerStatuses,
            ]),
          ),
        )
        throw error
      },
    )
  await areThere(expected(uids, [0, 1]), 'the logs of both runs, by namespace')
  for (const { file, target } of seen().filter(({ target }) => target)) {
    const [, space, id] = /\/talker_(\w+)_main-([0-9a-f]{64})\.log$/.exec(file) ?? []
    const [, run] = /(\d)\.log$/.exec(target) ?? []
    const isOfRun = async (): Promise<boolean> => {
      const { status } = await client.get<Pod>(pods, { namespace: space, name: 'talker' })
      const [{ containerID, lastState } = {}] = status?.containerStatuses ?? []
      return [lastState?.terminated?.containerID, containerID][Number(run)] === `containerd://${id}`
    }
    await until(isOfRun, { what: `run ${run} of ${space}/talker to have the ID that names ${file}` })
    t.pass(file)
  }
  writeFileSync(join(out, 'go'), '')
  await areThere(expected(uids, [1, 2]), 'the first run’s log to go, with its link')
  const [namespace = ''] = spaces
  const pod = await followPod(client, { namespace, name: 'talker' })
  await client.delete(pods, { namespace, name: 'talker' })
  await pod.untilDeleted()
  const [, uid = ''] = uids
  await areThere(
    expected(['', uid], [1, 2]).filter((log) => !log.startsWith(namespace)),
    'the deleted pod’s logs to go',
  )
}

t.test('all of /var/log, and its two folders alone', async (t) => {
  if ((await possibleIsolation({ rootDir: t.testdir() })).files !== 'own')
    return skipOrFail(t, 'this machine lets us mount nothing')
  const mounted = {
    '/var/log': '/var/log/',
    '/alone/pods': '/var/log/pods',
    '/alone/containers': '/var/log/containers',
  }
  const patterns = ['/var/log', '/alone'].flatMap((folder) => [
    `${folder}/pods/*/*/*.log`,
    `${folder}/containers/*.log`,
  ])
  const hadPods = existsSync('/var/log/pods')
  const logs = await watchLogs(t, mounted, patterns)
  await livesOfLogs(t, logs, ['/var/log/pods/', '/var/log/containers/', '/alone/pods/', '/alone/containers/'])
  t.equal(existsSync('/var/log/pods'), hadPods, 'the machine’s own folder is as it was')
})

t.test('where containers see the machine’s files', async (t) => {
  if ((await possibleIsolation({ rootDir: t.testdir(), hostFiles: true })).files !== 'mounts')
    return skipOrFail(t, 'this machine lets us mount nothing')
  const patterns = ['/var/log/pods/*/*/*.log', '/var/log/containers/*.log']
  const logs = await watchLogs(t, { '/var/log': '/var/log' }, patterns, '--host-files')
  await livesOfLogs(t, logs, ['/var/log/pods/', '/var/log/containers/'])
})
