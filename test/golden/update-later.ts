// Plays all recordings against a cluster of its own and rewrites later.json: what agrees now goes. What differs and is not named is printed;
// with --add it is named as well. Usage: node test/golden/update-later.ts [--add] [--kubelet]
import { writeFileSync } from 'node:fs'
import { noBusybox } from '../harness/busybox-root.ts'
import { startTestCluster } from '../harness/cluster.ts'
import { type Later, laterFile, type Replay, readLater, recordings, replayApi } from '../harness/replay.ts'
import { allScenarios, replayKubelet, startRecordedCluster } from '../harness/replay-kubelet.ts'

const mayAdd = process.argv.includes('--add')
const withKubelet = process.argv.includes('--kubelet')
const ends: (() => unknown)[] = []
const run = { teardown: (end: () => unknown): void => void ends.push(end) }
const cluster = withKubelet ? await startRecordedCluster(run) : await startTestCluster(run, '--kubelet=false', '--scheduler=false')
if (!cluster) throw new Error(noBusybox)

const later = readLater()
if (withKubelet) update(later.kubelet, 'kubelet', await replayKubelet(cluster, allScenarios(), console.log))
else for (const file of recordings) update(later.api, file, await replayApi(cluster, file))
writeFileSync(laterFile, `${JSON.stringify({ api: sorted(later.api), kubelet: sorted(later.kubelet) }, undefined, 2)}\n`)
for (const end of ends.reverse()) await end()
process.exit()

function update(known: Later, title: string, { differences }: Replay): void {
  const differing = [...differences].filter(([, found]) => found.length > 0)
  for (const [name, found] of differences) if (found.length === 0) delete known[name]
  for (const [name, found] of differing) {
    if (known[name]) continue
    console.log(`${name}\n    ${found.slice(0, 3).join('\n    ').slice(0, 400)}`)
    if (mayAdd) known[name] = classOf(found)
  }
  console.log(`${title}: ${differences.size - differing.length} of ${differences.size} agree`)
}

/** A first guess, to be looked at: an absent endpoint is a kind or subresource that we do not serve yet. */
function classOf(found: string[]): string {
  const absent = found.some((line) => /the server could not find the requested resource|404 page not found|, got 404/.test(line))
  return absent ? 'not served yet' : 'differs'
}

function sorted(entries: Later): Later {
  return Object.fromEntries(Object.entries(entries).sort(([a], [b]) => (a < b ? -1 : 1)))
}
