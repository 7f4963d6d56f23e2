/** Each example dies in every way that shows its fault. `KUBESTAGE_REHEARSE_SCALE=1` tries the same in real time, in every way, which takes minutes. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Fault, findingsOf, isBad, type Report, type WorkloadReport } from '../../cli/rehearse/report.ts'
import { repository, startCommand } from '../harness/cluster.ts'
import { tooShort, withShortage } from '../harness/shortage.ts'
import { skipOrFail } from '../harness/skip.ts'

const folder = join(repository, 'examples', 'rehearse')
const scale = process.env.KUBESTAGE_REHEARSE_SCALE ?? '20'
const isRealTime = scale === '1'
t.setTimeout(isRealTime ? 3_600_000 : 720_000)
t.jobs = 2 // most of the time they wait
/** What is timed to the fraction of a second, and cannot be tried again. */
const alone = { buffered: false }

/** In the environment of what a rehearsal starts. */
const mark = `rehearsal-${process.pid}`
/** A stall by which a rehearsal may end otherwise, in its own time. */
const stallMs = 1_000

/** What each of the bad ones must be found to do: no more, and no less. */
const faults: Record<string, Fault[]> = {
  'cuts-requests': ['cuts-requests'],
  'does-not-come-back': ['does-not-come-back'],
  'drops-requests': ['stops-too-soon'],
  'exits-1': ['exits-non-zero'],
  'exits-143': ['exits-143'],
  'goes-on': ['goes-on-after-term'],
  'grace-too-short': ['goes-on-after-term', 'grace-too-short'],
  'header-for-a-command': ['reason-delivery', 'refused'],
  'hook-fails': ['hook-fails'],
  'hook-overruns': ['hook-longer-than-grace', 'hook-overruns'],
  'hook-uses-most': ['hook-uses-most'],
  'hook-wrong-port': ['hook-without-listener'],
  'ignores-reason': ['reason-unheard'],
  'ignores-term': ['ignores-term'],
  'leaves-a-child': ['leaves-children'],
  'no-handler': ['no-term-handler'],
  'probe-grace-above-pod-grace': ['probe-grace'],
  'shell-swallows-term': ['shell-swallows-term'],
  'sleep-longer-than-grace': ['grace-too-short', 'hook-longer-than-grace', 'hook-overruns'],
  'slow-liveness': ['slow-liveness-death'],
  'wrong-reason-delivery': ['reason-delivery'],
}
const good = ['good', 'good-worker']

async function rehearse(
  t: Test,
  files: string[],
  ...flags: string[]
): Promise<{ code: unknown; workloads: WorkloadReport[]; told: string }> {
  const paths = files.map((file) => (file.includes('/') ? file : join(folder, `${file}.yaml`)))
  const args = ['rehearse', `--time-scale=${scale}`, '-o=json', ...flags, ...paths]
  const command = startCommand(t, args, { variables: { MARK: mark } })
  const code = await command.ended
  if (!command.stdout().startsWith('{')) throw new Error(command.output())
  return { code, workloads: (JSON.parse(command.stdout()) as Report).workloads, told: command.output() }
}
const faultsOf = (workload: WorkloadReport): Fault[] => [
  ...new Set(
    findingsOf(workload)
      .filter(isBad)
      .map(({ fault }) => fault),
  ),
]
const isRoot = process.getuid?.() === 0
const notRoot = 'what PID 1 does with signals can be seen in a PID namespace only'

/** What was found out of the bad ones. */
const reports: WorkloadReport[] = []

t.test('each planted fault is found, and nothing else', async (t) => {
  if (!isRoot) return skipOrFail(t, notRoot)
  const files = Object.keys(faults)
  const known = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
  t.same(known.sort(), [...files, ...good].map((name) => `${name}.yaml`).sort(), 'each example has its fault here')
  // Who does not come back is waited for until that long.
  const few = isRealTime ? ['--jobs=24'] : ['--ways=delete,liveness,children,patience', '--ready-timeout=30s']
  const { result, shortage } = await withShortage(mark, () => rehearse(t, files, ...few))
  t.equal(result.code, 1)
  const found = new Map(files.map((file, index) => [file, result.workloads[index]!]))
  const isOff = (file: string) => faultsOf(found.get(file)!).sort().join() !== faults[file]!.join()
  const again = files.filter(isOff)
  // Seconds are fractions of one here, and who stands still for one of them has used up another grace than it was given.
  const why = tooShort(shortage, stallMs / Number(scale))
  if (again.length > 0 && why) {
    t.comment(`${why}: once more ${again.join(', ')}`)
    const { workloads } = await rehearse(t, again, ...few, '--jobs=2')
    for (const [index, file] of again.entries()) found.set(file, workloads[index]!)
  }
  reports.push(...found.values())
  for (const [file, workload] of found) {
    t.same(faultsOf(workload).sort(), faults[file], file, { workload })
    const withoutRemedy = findingsOf(workload).filter((finding) => isBad(finding) && !finding.remedy)
    t.ok(
      withoutRemedy.every(({ fault }) => fault === 'refused'),
      `${file}: with a remedy`,
    )
  }
})

t.test('a program that waits by itself is judged by real time', async (t) => {
  if (!isRoot) return skipOrFail(t, notRoot)
  const script = 'trap "sleep 2; exit 0" TERM; while :; do sleep 0.05; done'
  const run = async (...flags: string[]) => {
    const args = ['rehearse', '--time-scale=20', '--ways=delete', ...flags, '--', 'sh', '-c', script]
    const command = startCommand(t, args)
    return [await command.ended, command.output()]
  }
  const [[code, output], [hastyCode, hasty]] = await Promise.all([run(), run('--real-time-limit=1s')])
  t.equal(code, 0, 'two seconds of thirty')
  t.match(output, /delete: bad: gets TERM but goes on.*\n.* delete in real time: dies well\n/)
  t.match(output, '1 death is tried in real time as well')
  t.equal(hastyCode, 1)
  t.match(hasty, '1 death is in doubt: a second that a program waits by itself counts as 20.')
})

t.test('a pod that ends by itself is not rehearsed', async (t) => {
  const command = startCommand(t, [
    'rehearse',
    '--time-scale=20',
    '--ways=delete',
    '--',
    'sh',
    '-c',
    'sleep 0.2; exit 7',
  ])
  t.equal(await command.ended, 1)
  t.match(command.output(), 'is ready, but not for long: its container exits 7')
})

t.test('one that is interrupted leaves nothing', async (t) => {
  const TMPDIR = mkdtempSync(join(tmpdir(), 'kubestage-test-'))
  t.teardown(() => rmSync(TMPDIR, { recursive: true, force: true }))
  const command = startCommand(t, ['rehearse', '--time-scale=20', '--', 'sleep', '1000'], { variables: { TMPDIR } })
  await command.printed('sleep 1000 force:')
  command.child.kill('SIGINT')
  t.equal(await command.ended, 130)
  t.same(
    readdirSync(TMPDIR).filter((name) => name.startsWith('kubestage-')),
    [],
  )
})

t.test('an unknown image is reported once, without a wait', async (t) => {
  const command = startCommand(t, ['rehearse', '--ready-timeout=10m', '-o=json', 'nobody/knows:1'])
  t.equal(await command.ended, 1)
  const { workloads } = JSON.parse(command.stdout()) as Report
  t.match(workloads, [{ manifest: [{ fault: 'unknown-image', says: 'stands for no program' }], rehearsals: [] }])
  t.equal(workloads[0]?.manifest.length, 1)
})

t.test('what cannot be rehearsed is one sentence', async (t) => {
  const run = async (...args: string[]) => {
    const command = startCommand(t, ['rehearse', ...args])
    return [await command.ended, command.output()]
  }
  const file = join(folder, 'good.yaml')
  const empty = t.testdir({ 'map.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n', 'bad.yaml': 'a: [' })
  t.same(await run(), [2, 'kubestage: usage: kubestage rehearse (FILE… | IMAGE | -- COMMAND…)\n'])
  t.same(await run('none.yaml'), [2, 'kubestage: none.yaml: no such file\n'])
  t.match(await run(`${empty}/map.yaml`), [2, /map\.yaml: no workloads found\n$/])
  t.match(await run(`${empty}/bad.yaml`), [2, /bad\.yaml:\d+: /])
  t.match(await run('--ways=explode', file), [2, /^kubestage: unknown way "explode"; there are delete, update/])
  t.match(await run('--ways=tain', file), [2, /did you mean taint\?\n$/])
  t.match(await run('--earlier=report.json', file), [2, /^kubestage: --earlier needs -o html\n$/])
  t.match(await run('-o=html', `--earlier=${file}`, file), [
    2,
    /good\.yaml is not a report of kubestage rehearse: make one/,
  ])
  t.match(await run('--load=ftp://pod/', file), [2, /^kubestage: load must be an address such as/])
})

t.test('good applications die well in every way', alone, async (t) => {
  if (!isRoot) return skipOrFail(t, notRoot)
  const { code, workloads, told } = await rehearse(t, good, '--jobs=4')
  t.equal(code, 0)
  t.match(told, /^pod\/good-worker force: dies well$/m, 'each death is told as soon as it is over')
  const [server, worker] = workloads
  for (const workload of workloads) t.same(findingsOf(workload).filter(isBad), [], workload.name)
  const reasons = (workload?: WorkloadReport) => workload?.rehearsals.map(({ way, reason }) => [way, reason])
  t.same(reasons(worker), [
    ['delete', undefined],
    ['update', 'Update'],
    ['decommissioned', 'Decommissioned'],
    ['eviction', 'Eviction'],
    ['deadline', undefined],
    ['liveness', undefined],
    ['short-grace', undefined],
    ['force', undefined],
    ['children', undefined],
    ['taint', 'IntolerableTaint'],
    ['kubelet-restart', worker?.rehearsals.find(({ way }) => way === 'kubelet-restart')?.reason],
    ['shutdown', 'Eviction'],
  ])
  t.ok(
    server?.rehearsals.every(({ requests }) => requests && requests.sent > 0),
    'under load',
  )
})

t.test('a command, and thresholds from the file', alone, async (t) => {
  if (!isRoot) return skipOrFail(t, notRoot)
  const config = join(
    t.testdir({ 'kubestage.yaml': 'allowedExitCodes: [0, 7]\nways: [delete]\nport: 7443\n' }),
    'kubestage.yaml',
  )
  const run = async (...flags: string[]): Promise<[code: unknown, printed: string]> => {
    const script = 'trap "exit 7" TERM; while :; do sleep 0.05; done'
    const command = startCommand(t, ['rehearse', '--time-scale=20', ...flags, '--', 'sh', '-c', script])
    return [await command.ended, command.stdout()]
  }
  const [code, page] = await run('--ways=delete', '-o=html')
  t.equal(code, 1)
  t.match(page, /^<!doctype html>.*exits 7.*data-bar="term".*kubernetes-admin asks to delete it.*<\/html>\n$/s)
  t.match(await run(`--config=${config}`), [0])
})

t.test('a program that follows the measured advice dies well', alone, async (t) => {
  if (!isRoot) return skipOrFail(t, notRoot)
  const advised = (fault: Fault, pattern: RegExp): string => {
    const remedies = reports
      .flatMap(findingsOf)
      .flatMap((finding) => (finding.fault === fault ? (finding.remedy ?? '') : []))
    return pattern.exec(remedies.join('\n'))?.[1] ?? remedies.join('\n')
  }
  const seconds = advised('stops-too-soon', /add a sleep hook of about (\d+) s/)
  const grace = advised('grace-too-short', /set terminationGracePeriodSeconds to (\d+)/)
  const source = (file: string): string => readFileSync(join(folder, `${file}.yaml`), 'utf8')
  const mended = t.testdir({
    'drops-requests.yaml': `${source('drops-requests')}    lifecycle: {preStop: {sleep: {seconds: ${seconds}}}}\n`,
    'grace-too-short.yaml': source('grace-too-short').replace(/(?<=PeriodSeconds: )\d+/, grace),
  })
  const files = readdirSync(mended).map((name) => join(mended, name))
  const { code, workloads } = await rehearse(t, files, '--ways=delete')
  t.equal(code, 0, `${seconds} s, ${grace} s`)
  for (const workload of workloads) t.same(findingsOf(workload), [], workload.name, { workload })
})
