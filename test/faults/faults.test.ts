import t from 'tap'
import { skipOrFail } from '../harness/skip.ts'
import { allFaults } from './all.ts'
import { siege } from './siege.ts'

/** Each about a second; `npm run faults` has them all, in random order, for as long as it is told. */
const sample = [
  'SIGKILL to the API server',
  'SIGKILL to the kubelet',
  'SIGSTOP and SIGCONT to the server',
  'full disk and SIGKILL to the API server',
  'a second server on the same file',
  'SIGKILL to all',
  'pods: variables that each contain the one before, 50 MB in all',
  'pods: signals to all processes',
  'bodies, by a service account that may only create pods',
  'what grows, by an administrator',
]

t.test('no fault loses what was acknowledged, or leaves anything behind', async (t) => {
  t.same(
    sample.filter((name) => !allFaults.some((fault) => fault.name === name)),
    [],
    'these faults exist',
  )
  const report = await siege({ seed: 1, until: { faults: sample }, say: (line) => t.comment(line) })
  t.same(report.violations, [])
  const wanted = Object.fromEntries(sample.map((name) => [name, 1]))
  if (report.faults['full disk and SIGKILL to the API server'] === undefined)
    return skipOrFail(t, 'this user may not mount: no full disk')
  t.same(report.faults, wanted)
  t.ok(report.writes.acknowledged > 20, `${report.writes.acknowledged} writes were acknowledged`)
})

t.test('nor with three API servers on one file', async (t) => {
  const faults = ['SIGKILL to the API server', 'full disk and SIGKILL to the API server']
  const report = await siege({ seed: 1, servers: 3, until: { faults }, say: (line) => t.comment(line) })
  t.same(report.violations, [])
})
