/** How `npm run differential:pods` compares lives; the lives themselves need a real node. */
import t from 'tap'
import { differencesOf } from '../../scripts/differential/pods/compare.ts'
import { makeSubject } from '../../scripts/differential/pods/generate.ts'
import type { Life, State } from '../../scripts/differential/pods/life.ts'
import { races } from '../../scripts/differential/pods/outcome.ts'
import { reportOf } from '../../scripts/differential/pods/report.ts'
import { shrink } from '../../scripts/differential/pods/shrink.ts'
import type { Subject } from '../../scripts/differential/pods/subject.ts'

type Seen = [atMs: number, text: string]

/** A state is brief if the next one comes within 1.5 s. */
function states(...seen: Seen[]): State[] {
  return seen.map(([atMs, text], index) => {
    const next = seen[index + 1]
    return { atMs, text, isBrief: next !== undefined && next[0] - atMs < 1_500 }
  })
}
const life = (container: Seen[], events: Life['events'] = {}): Life => ({
  answers: [''],
  silentAtMs: Number.POSITIVE_INFINITY,
  parts: { 'container c': states(...container) },
  events,
})
const classes = (theirs: Life, ours: Life): string[] =>
  differencesOf(theirs, ours, 20_000).map(({ class: kind }) => kind)

t.test('lives', async (t) => {
  const slow = life([
    [2_000, 'running'],
    [5_000, 'terminated(Error, 1)'],
    [6_500, 'running restarts 1'],
  ])
  const quick = life([
    [100, 'running'],
    [2_900, 'terminated(Error, 1)'],
    [2_950, 'running restarts 1'],
  ])
  t.same(classes(slow, slow), [])
  t.same(classes(slow, quick), [], 'one node starts earlier, and restarts at once')
  t.same(classes(slow, life([[100, 'running']])), ['states', 'states'], 'states that last are missing')
  const late = life([
    [100, 'running'],
    [15_000, 'terminated(Error, 1)'],
    [15_100, 'running restarts 1'],
  ])
  t.same(classes(slow, late), ['times'], 'a container takes longer until it restarts')
  const flapping = life([
    [100, 'running'],
    [3_000, 'running ready'],
    [3_200, 'running'],
  ])
  t.same(classes(life([[2_000, 'running']]), flapping), [], 'what was brief may be missed')
  const told = { 'Normal Killing spec.containers{c}: Stopping container c': { atMs: 3_000, count: 1 } }
  t.same(classes(life([], told), life([])), ['events'])
  const once = { 'Warning Unhealthy spec.containers{c}: Readiness probe failed: ': { atMs: 3_000, count: 1 } }
  t.same(classes(life([], once), life([])), [], 'a probe that failed once may have met a container that ended')
  const twice = { 'Warning Unhealthy spec.containers{c}: Readiness probe failed: ': { atMs: 3_000, count: 2 } }
  const starts = { 'Normal Started spec.containers{c}: Container started': { atMs: 100, count: 2 } }
  t.same(classes(life([], twice), life([])), ['events'], 'it started once, and failed twice')
  t.same(classes(life([], { ...twice, ...starts }), life([], starts)), [], 'each start may have met one')
  const canceled = 'Warning Unhealthy spec.containers{c}: Liveness probe errored: desc = context canceled'
  t.same(classes(life([], { [canceled]: { atMs: 3_000, count: 2 } }), life([])), [], 'between a deletion and the kill')
  t.same(classes(life([], { [canceled]: { atMs: 3_000, count: 3 } }), life([])), ['events'])
  const often = { 'Warning BackOff c': { atMs: 3_000, count: 12 } }
  t.same(classes(life([], { 'Warning BackOff c': { atMs: 3_000, count: 3 } }), life([], often)), ['counts'])
})

t.test('a pod whose life a slow runtime changes is not played', async (t) => {
  const quick = life([
    [100, 'running'],
    [2_900, 'terminated(Error, 1)'],
  ])
  const slow = life([[2_000, 'running']])
  const outcome = { name: '7', subject: makeSubject(7), theirs: [], ours: [quick] }
  t.equal(races({ ...outcome, slow: [slow] }), true)
  t.equal(races({ ...outcome, slow: [quick] }), false)
  const gone = (atMs: number): Life => ({
    ...quick,
    parts: { phase: states([0, 'Running'], [atMs, 'gone']), deletion: states([1_000, 'in 4 s']) },
  })
  const deleted = { ...outcome, ours: [gone(2_000)] }
  t.equal(races({ ...deleted, slow: [gone(6_000)] }), false, 'a deletion takes as long as the delays of the slow node')
  const report = reportOf([
    { ...outcome, slow: [slow] },
    { ...outcome, slow: [quick], theirs: [quick, slow] },
  ])
  t.match(
    report,
    /1 pods race on our own nodes.*1 of 1 life cycles equal \(100.0 %\), 1 of them.*0 of 1 first two plays/s,
  )
})

t.test('a seed makes the same pod again', async (t) => {
  t.same(makeSubject(7), makeSubject(7))
  t.notSame(makeSubject(7), makeSubject(8))
})

t.test('a pod that differs is made as small as it can be', async (t) => {
  const exec = { command: ['true'] }
  const probe = { exec, periodSeconds: 1 }
  const container = { image: 'i', command: ['sh'], terminationMessagePath: '/tmp/words' }
  const subject: Subject = {
    pod: {
      spec: {
        restartPolicy: 'Always',
        initContainers: [{ name: 'i1', ...container }],
        containers: [
          { name: 'c0', ...container },
          { name: 'c1', ...container, livenessProbe: probe, lifecycle: { preStop: { exec }, postStart: { exec } } },
        ],
        volumes: [{ name: 'shared', emptyDir: {} }],
      },
    },
    deeds: [
      { after: 'running', seconds: 1, patch: {} },
      { after: 'running', seconds: 1, delete: {} },
    ],
    untilSeconds: 20,
  }
  const wanted = { class: 'states', of: 'phase', text: '' }
  const differ = async ({ pod, deeds }: Subject) => {
    const hooked = pod.spec.containers.some(({ lifecycle }) => lifecycle?.preStop)
    return hooked && deeds.some((deed) => deed.delete) ? [wanted] : [{ ...wanted, class: 'events' }]
  }
  const smallest = await shrink(subject, wanted, { differ, isOver: () => false })
  t.same(smallest, {
    pod: {
      spec: {
        containers: [{ name: 'c1', image: 'i', command: ['sh'], lifecycle: { preStop: { exec } } }],
        volumes: [{ name: 'shared', emptyDir: {} }],
      },
    },
    deeds: [{ after: 'running', seconds: 1, delete: {} }],
    untilSeconds: 20,
  })
  t.same(await shrink(subject, wanted, { differ, isOver: () => true }), subject, 'no time is left')
})
