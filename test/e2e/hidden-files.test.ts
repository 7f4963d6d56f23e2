/** A pod that reads all that it can reach finds none of the cluster's keys, nor what belongs to other pods. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { possibleIsolation } from '../../kubelet/runtime/process/index.ts'
import { hiddenPlaces, placesOf } from '../../kubelet/runtime/process/view/hidden.ts'
import { mounts } from '../../kubelet/runtime/process/view/mount-points.ts'
import type { Pod } from '../../shared/api/types.ts'
import { pods, secrets } from '../../shared/client/resources.ts'
import { kubeletPid, startCommand, startTestCluster } from '../harness/cluster.ts'
import { isReady, podOf, politeScript } from '../harness/pods.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const namespace = 'default'

t.test('the places where a machine has a file', async (t) => {
  const mounted = mounts(
    [
      '1 0 8:1 / / rw - ext4 /dev/sda rw',
      '2 1 8:2 / /home rw - ext4 /dev/sdb rw',
      '3 1 8:2 /jane/data /srv/with\\040space rw - ext4 /dev/sdb rw',
      '4 1 8:1 /home /old rw - ext4 /dev/sda rw',
      '5 1 8:3 / /data rw - ext4 /dev/sdc rw',
    ].join('\n'),
  )
  t.same(placesOf('/home/jane/data/state', mounted), ['/home/jane/data/state', '/srv/with space/state'])
  t.same(placesOf('/home/jane', mounted), ['/home/jane'], 'a part of it is found on its own')
  t.same(placesOf('/etc/x', mounted), ['/etc/x'])
  t.same(placesOf('/srv/with space/state', mounted), ['/srv/with space/state', '/home/jane/data/state'])
  const folder = t.testdir({ state: { pki: {}, key: '' } })
  const paths = [join(folder, 'state', 'pki'), join(folder, 'state'), join(folder, 'none')]
  t.same(hiddenPlaces(paths, mounted), { folders: [join(folder, 'state')], files: [] })
})

/** Words that only the cluster and one pod know: 40 letters of each. */
function secretsOf(stateDir: string, password: string): Map<string, string> {
  const found = new Map([['the Secret’s value', password]])
  found.set('the Secret as it is stored', Buffer.from(password).toString('base64').slice(0, 40))
  for (const file of readdirSync(stateDir, { recursive: true, encoding: 'utf8' })) {
    const body = /\.key$/.test(file) && readFileSync(join(stateDir, file), 'utf8').split('\n')[1]
    if (body) found.set(file, body.slice(0, 40))
    if (/victim|token$/.test(file) && file.endsWith('/token')) {
      found.set(`a token of another pod`, readFileSync(join(stateDir, file), 'utf8').slice(-40))
    }
  }
  return found
}

/** Reads the places, as they are and as these processes have them, and what those were told; for `to`. */
const walk = (places: string[], { pids, to }: { pids: string; to: string }): string => `
umount -l ${places.join(' ')} 2>/dev/null
{
  for place in ${places.join(' ')}; do
    for root in "" /proc/${pids}/root /proc/${pids}/cwd; do find "$root$place" -type f -exec head -c 8000000 {} + ; done
  done
  cat /proc/${pids}/environ /proc/${pids}/cmdline
  for file in /proc/${pids}/fd/*; do [ -f "$file" ] && ! [ "$file" -ef ${to} ] && head -c 8000000 "$file"; done
} 2>/dev/null >${to}
echo that is all >>${to}`

async function tryToRead(t: Test, ...flags: string[]): Promise<void> {
  const outside = scratchFolder(t, 'outside')
  const storage = join(outside, 'objects.db')
  const cluster = await startTestCluster(t, `--storage=sqlite:${storage}`, ...flags)
  const { client, stateDir } = cluster
  const elsewhere = join(outside, 'again')
  mkdirSync(elsewhere)
  execFileSync('mount', ['--bind', stateDir, elsewhere])
  t.teardown(() => execFileSync('umount', ['-l', elsewhere]))
  const password = `victim-${'x'.repeat(9)}-${process.pid}-${'y'.repeat(20)}`
  await client.create(secrets, { metadata: { name: 'victim' }, stringData: { password } }, { namespace })
  const volumes = [
    { name: 'secret', secret: { secretName: 'victim' } },
    { name: 'memory', emptyDir: { medium: 'Memory' } },
  ]
  const script = `echo ${password} >/memory/copy; echo ${password}; ${politeScript}`
  const victim = podOf({ name: 'victim', command: ['sh', '-c', script], spec: { volumes } })
  const [container] = victim.spec.containers
  container!.volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }))
  const created = await client.create<Pod>(pods, victim, { namespace })
  await until(async () => isReady(await client.get<Pod>(pods, { namespace, name: 'victim' })), { what: 'the victim' })
  const uid = created.metadata.uid ?? ''
  t.ok(existsSync(join(stateDir, 'kubelet', 'pods', uid)), 'its volumes are in the state folder')

  const words = secretsOf(stateDir, password)
  t.ok(words.size >= 5, [...words.keys()].join())
  const shim = readFileSync(join(stateDir, 'kubelet', 'runtime', 'shim.pid'), 'utf8').trim()
  const ours = `{1,${cluster.process.child.pid},${kubeletPid(cluster)},${shim}}`
  // With hostPID it may read what other pods' processes can: on a real node as well.
  const kinds = { usual: ['[0-9]*', {}], host: [ours, { hostPID: true, hostNetwork: true }] } as const
  for (const [name, [pids, spec]] of Object.entries(kinds)) {
    const folder = scratchFolder(t, name)
    const out = join(folder, 'out')
    const places = [stateDir, storage, `${storage}-wal`, elsewhere, '/run', '/dev/shm']
    const command = ['bash', '-c', walk(places, { pids, to: out })]
    await client.create(pods, podOf({ name, command, hostFolder: folder, spec: { restartPolicy: 'Never', ...spec } }), {
      namespace,
    })
    const isOver = () => existsSync(out) && readFileSync(out, 'latin1').endsWith('that is all\n')
    await until(isOver, { what: `the walk of ${name}` })
    const read = readFileSync(out, 'latin1')
    for (const [what, word] of words) t.notOk(read.includes(word), `${name} ${flags} does not find ${what}`)
  }
}

t.test('of the machine a pod sees no secret', async (t) => {
  if ((await possibleIsolation({ rootDir: t.testdir() })).files !== 'own')
    return skipOrFail(t, 'this machine lets us mount nothing')
  await t.test('with files of its own', (t) => tryToRead(t))
  await t.test('with the machine’s files', (t) => tryToRead(t, '--host-files'))
})

t.test('where nothing can be hidden, the start says so', async (t) => {
  const stateDir = scratchFolder(t, 'open')
  const command = startCommand(t, ['up', '--port=0', `--state-dir=${stateDir}`, '--isolation=none'])
  await command.printed('Ctrl-C ends everything')
  t.match(command.output(), /files +pods on node-1 can read all files of this machine, the cluster's keys among them/)
  t.match(readFileSync(join(stateDir, 'logs', 'kubelet.log'), 'utf8'), /containers see all files of this machine/)
})
