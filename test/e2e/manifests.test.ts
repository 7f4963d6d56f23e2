/** Ordinary manifests, applied as they are. `MANIFESTS=all` takes each, `MANIFESTS=nginx,etcd` those that are named; the suite takes some. */
import { spawnSync } from 'node:child_process'
import t, { type Test } from 'tap'
import { possibleIsolation } from '../../kubelet/runtime/process/index.ts'
import { findKubectls } from '../harness/kubectl.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'
import { noDebian } from '../images/debian-packages.ts'
import { type Play, plays } from './manifests/plays.ts'
import { manifestOf, Stage, type Who, whyNoOrdinaryUser } from './manifests/stage.ts'

t.setTimeout(7_200_000)
const sample = 'nginx,etcd,cronjob'
const wanted = process.env.MANIFESTS ?? sample
const chosen = Object.entries(plays).filter(([name]) => wanted === 'all' || wanted.split(',').includes(name))

for (const who of ['root', 'ordinary user'] as const)
  t.test(`as ${who}`, async (t) => {
    const possible = await possibleIsolation({ rootDir: t.testdir() })
    if (possible.files !== 'own' || process.getuid?.() !== 0) return skipOrFail(t, 'needs root and namespaces')
    const kubectl = findKubectls().at(-1)
    if (!kubectl) return skipOrFail(t, 'no kubectl')
    if (spawnSync('nft', ['--version']).status !== 0) return skipOrFail(t, 'no nft: install nftables')
    const why = noDebian() ?? (who === 'root' ? undefined : whyNoOrdinaryUser())
    if (why) return skipOrFail(t, why)
    const stage = await Stage.start(t, kubectl.file, who)
    for (const [name, play] of chosenFor(who)) await t.test(name, (t) => perform(t, stage, name, play))
  })

/** The suite plays one manifest as an ordinary user. */
function chosenFor(who: Who): [string, Play][] {
  return who === 'root' || process.env.MANIFESTS ? chosen : chosen.slice(0, 1)
}

async function perform(t: Test, stage: Stage, name: string, play: Play): Promise<void> {
  const manifest = manifestOf(name)
  await stage.loadImagesOf(t, manifest)
  const before = stage.footprint()
  await stage.kubectl(['apply', '-f', manifest])
  try {
    await play(t, stage)
  } catch (error) {
    await stage.diagnose(t)
    t.fail(String(error))
  }
  await stage.kubectl(['delete', '-f', manifest, '--ignore-not-found'])
  await stage.kubectl(['delete', 'pvc', '--all']) // those of a StatefulSet stay, as in any cluster
  const isGone = (): boolean => JSON.stringify(stage.footprint()) === JSON.stringify(before)
  await until(isGone, { what: 'everything to be gone', timeoutMs: 30_000 }).catch(() => undefined)
  t.same(stage.footprint(), before, 'nothing is left')
}
