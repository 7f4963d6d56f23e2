// Plays recorded kubelet scenarios against a cluster of its own and tells of each whether it goes as under a real kubelet.
// Usage: npm run golden:kubelet [-- REGEX]
import { readLater } from '../harness/replay.ts'
import { noBusybox } from '../harness/busybox-root.ts'
import { allScenarios, replayKubelet, startRecordedCluster } from '../harness/replay-kubelet.ts'

const ends: (() => unknown)[] = []
const only = new RegExp(process.argv[2] ?? '')
const cluster = await startRecordedCluster({ teardown: (end) => void ends.push(end) })
if (!cluster) throw new Error(noBusybox)

const later = readLater().kubelet
const names = allScenarios().filter((name) => only.test(name))
const { differences } = await replayKubelet(cluster, names.filter((name) => !later[name]), console.log)
for (const end of ends.reverse()) await end()

let differing = 0
for (const name of names) {
  const found = differences.get(name)
  if (later[name] || !found) console.log(`- ${name}: ${later[name] ?? 'not played'}`)
  else if (found.length === 0) console.log(`✓ ${name}`)
  else {
    differing++
    console.log(`✗ ${name}\n    ${found.join('\n    ')}`)
  }
}
console.log(`${differences.size - differing} of ${differences.size} go as under a real kubelet; ${names.length - differences.size} not played`)
process.exit(differing > 0 ? 1 : 0)
