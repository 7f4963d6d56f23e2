// Plays recorded kubelet scenarios against a cluster of its own and tells of each whether it goes as under a real kubelet.
// Usage: npm run golden:kubelet [-- REGEX]
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { realClock } from '../../shared/clock/real-clock.ts'
import { resolveOptions } from '../../shared/config/resolve.ts'
import { runCluster } from '../../cluster/cluster.ts'
import { clusterOptions } from '../../cluster/settings.ts'
import { readFileSync } from 'node:fs'
import { readLater } from '../harness/replay.ts'
import {
  allScenarios,
  recordedFlags,
  recordedImages,
  replayKubelet,
  startRecordedRegistry,
} from '../harness/replay-kubelet.ts'

const ended: (() => unknown)[] = []
const only = new RegExp(process.argv[2] ?? '')
const stateDir = mkdtempSync(join(tmpdir(), 'kubestage-golden-'))
// Beside the state, which containers do not see.
const imageDir = mkdtempSync(join(tmpdir(), 'kubestage-golden-images-'))
await startRecordedRegistry({ teardown: (end) => void ended.push(end) }, imageDir)
const { values } = await resolveOptions(clusterOptions, { args: recordedFlags, env: {} })
const cluster = await runCluster({
  settings: { ...values, ...recordedImages(imageDir), stateDir, port: 0 },
  clock: realClock,
  onTrouble: () => {}, // the kubelet is killed on purpose
})
const kubeconfigJson = join(stateDir, 'kubeconfig.json')
writeFileSync(kubeconfigJson, JSON.stringify(load(readFileSync(cluster.state.kubeconfig, 'utf8'))))

const later = readLater().kubelet
const names = allScenarios().filter((name) => only.test(name))
const { differences } = await replayKubelet({ stateDir, kubeconfigJson }, names.filter((name) => !later[name]), console.log)
await cluster.stop()
for (const end of ended) end()
for (const folder of [stateDir, imageDir]) rmSync(folder, { recursive: true, force: true })

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
