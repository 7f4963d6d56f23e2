import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Rehearsal } from '../../rehearse/rehearse.ts'
import { repository, startCommand } from '../harness/cluster.ts'
import { skipOrFail } from '../harness/skip.ts'

const folder = join(repository, 'examples', 'rehearse')
t.setTimeout(240_000)

async function rehearse(
  t: Test,
  files: string[],
  ...flags: string[]
): Promise<{ code: unknown; rehearsals: Rehearsal[] }> {
  const paths = files.map((file) => join(folder, `${file}.yaml`))
  const command = startCommand(t, ['rehearse', '--time-scale=20', '-o=json', ...flags, ...paths])
  const code = await command.ended
  if (!command.output().startsWith('[')) throw new Error(command.output())
  return { code, rehearsals: JSON.parse(command.output()) }
}

/** Everything that is wrong. */
const problemsOf = ({ findings, results }: Rehearsal): string =>
  [
    ...findings.map(({ problem }) => problem),
    ...results.flatMap(({ verdicts }) => verdicts.filter(({ good }) => !good).map(({ text }) => text)),
  ].join('\n')

/** What each of the bad ones must be found to do. */
const faults: Record<string, RegExp> = {
  'drops-requests': /^loses \d+ of \d+ requests/,
  'exits-1': /^exits with 1 when it is asked to stop$/,
  'exits-143': /^is ended by the signal, with exit code 143$/,
  'goes-on': /^gets TERM and goes on; killed after 10 s$/,
  'grace-too-short': /^needs \d+\.\d s to stop, and is killed after 1 s$/,
  'hook-fails': /^its preStop hook fails$/,
  'hook-overruns': /^its preStop hook uses all of 5 s$/,
  'hook-wrong-port': /^its preStop hook fails$/,
  'ignores-term': /^ignores TERM; killed after 10 s$/,
  'no-handler': /^ignores TERM: PID 1 has no handler; killed after 10 s$/,
  'probe-grace-above-pod-grace': /^its livenessProbe gives 60 s of grace, more than the 10 s of a deletion$/,
  'shell-swallows-term':
    /^its shell runs a program as a child .*\nignores TERM: PID 1 has no handler; killed after 10 s$/,
  'sleep-longer-than-grace':
    /^its preStop hook sleeps 5 s, and all its grace is 5 s\nits preStop hook uses all of 5 s$/,
  'wrong-reason-delivery': /^its preStop hook reads KUBE_POD_TERM_REASON, but reasonDelivery puts the reason into WHY$/,
}
/** Found by other ways than a deletion. */
const elsewhere = ['does-not-come-back']

t.test('a good application dies well in every way', async (t) => {
  if (process.getuid?.() !== 0) return skipOrFail(t, 'what PID 1 does can be seen in a PID namespace only')
  const [good, fragile] = await Promise.all([rehearse(t, ['good']), rehearse(t, elsewhere, '--ways=delete,liveness')])
  const [rehearsal] = good.rehearsals
  t.equal(rehearsal && problemsOf(rehearsal), '')
  t.equal(good.code, 0)
  t.same(
    rehearsal?.results.map(({ way, reason }) => [way, reason]),
    [
      ['delete', undefined],
      ['update', 'Update'],
      ['evict', 'Eviction'],
      ['liveness', undefined],
      ['deadline', undefined],
      ['force', undefined],
      ['kubelet', undefined],
      ['taint', 'IntolerableTaint'],
      ['shutdown', 'Eviction'],
    ],
  )
  const asked = rehearsal?.results.filter(({ way }) => way !== 'force') ?? []
  t.ok(asked.every(({ requests }) => requests && requests.sent > 0 && requests.lost === 0))

  t.equal(fragile.code, 1)
  t.match(
    fragile.rehearsals[0] && problemsOf(fragile.rehearsals[0]),
    /^does not come back after a restart: .*exit code 7$/,
  )
})

t.test('each planted fault is found, and nothing else', async (t) => {
  if (process.getuid?.() !== 0) return skipOrFail(t, 'what PID 1 does can be seen in a PID namespace only')
  const files = Object.keys(faults)
  const known = readdirSync(folder)
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => name.replace('.yaml', ''))
  t.same(known.sort(), [...files, ...elsewhere, 'good'].sort(), 'each example has its fault here')
  const middle = files.length >> 1
  const halves = await Promise.all(
    [files.slice(0, middle), files.slice(middle)].map((half) => rehearse(t, half, '--ways=delete')),
  )
  t.same(
    halves.map(({ code }) => code),
    [1, 1],
  )
  const rehearsals = halves.flatMap((half) => half.rehearsals)
  for (const [index, file] of files.entries()) {
    const rehearsal = rehearsals[index]
    t.match(rehearsal && problemsOf(rehearsal), faults[file], file)
    t.ok(
      rehearsal?.results.every(({ verdicts }) => verdicts.every(({ good, remedy }) => good || remedy)),
      `${file}: with a remedy`,
    )
  }
})

t.test('what cannot be rehearsed is one sentence', async (t) => {
  const run = async (...args: string[]) => {
    const command = startCommand(t, ['rehearse', ...args])
    return [await command.ended, command.output()]
  }
  t.same(await run(), [1, 'kubestage: nothing to rehearse: kubestage rehearse FILE…\n'])
  t.same(await run('none.yaml'), [1, 'kubestage: none.yaml: no such file\n'])
  t.match(
    (await run('--ways=explode', join(folder, 'good.yaml')))[1],
    /there is no way "explode"; there are delete, update/,
  )
})
