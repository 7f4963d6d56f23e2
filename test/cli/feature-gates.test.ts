/** Every row of the table of feature gates works from the command line to the kubelet, and a new row needs nothing else. */
import '../harness/from-sources.ts'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { defaultFeatureGates, featureGateNames, featureGateTable } from '../../shared/config/feature-gates.ts'
import { repository, startCommand, startTestCluster } from '../harness/cluster.ts'
import { parseMetrics } from '../harness/metrics.ts'
import { getText } from '../harness/pods.ts'

/** Loads the sources with a row more, in all processes of the cluster. */
function plant(t: Test): void {
  const { NODE_OPTIONS } = process.env
  t.teardown(() =>
    NODE_OPTIONS === undefined ? delete process.env.NODE_OPTIONS : Object.assign(process.env, { NODE_OPTIONS }),
  )
  const loader = pathToFileURL(join(repository, 'test/robustness/planted/plant.mjs')).href
  process.env.NODE_OPTIONS = `${NODE_OPTIONS ?? ''} --import=${loader}`.trim()
  process.env.PLANTED_BUG = JSON.stringify({
    file: 'shared/config/feature-gates.ts',
    line: 'export const featureGateTable = {',
    instead: "export const featureGateTable = { Planted: { help: '', default: false, stage: 'ALPHA' },",
  })
}

t.test('every gate, and one that is only a row, other than by default', async (t) => {
  plant(t)
  const flipped: Record<string, boolean> = { Planted: true }
  for (const name of featureGateNames) flipped[name] = !defaultFeatureGates[name]
  const flag = Object.entries(flipped).map((pair) => pair.join('='))
  const cluster = await startTestCluster(t, `--feature-gates=${flag}`)
  const node = '/api/v1/nodes/node-1/proxy'
  const { kubeletconfig } = JSON.parse(await getText(cluster, `${node}/configz`))
  t.same(kubeletconfig.featureGates, flipped, 'the kubelet has what the flag of up says')
  for (const page of ['/metrics', `${node}/metrics`]) {
    const metrics = parseMetrics(await getText(cluster, page))
    for (const [name, isOn] of Object.entries(flipped)) {
      const { stage } = { Planted: { stage: 'ALPHA' }, ...featureGateTable }[name]!
      t.equal(metrics.value('kubernetes_feature_enabled', { name, stage }), Number(isOn), `${page} ${name}`)
    }
  }
})

t.test('every gate is asked where its feature matters', async (t) => {
  const sources = globSync('{apiserver,controllers,kubelet}/**/*.ts', { cwd: repository })
    .map((file) => readFileSync(join(repository, file), 'utf8'))
    .join('\n')
  for (const name of featureGateNames) t.match(sources, new RegExp(`featureGates\\.${name}\\b|gate(:| =) '${name}'`))
})

t.test('a gate that is not there', async (t) => {
  for (const program of ['up', 'kubelet', 'apiserver', 'controllers']) {
    const command = startCommand(t, [program, '--feature-gates=ProbeGrace=true'])
    t.equal(await command.ended, 2, program)
    t.match(command.output(), 'kubestage: --feature-gates has an unrecognized feature gate: ProbeGrace; ')
  }
})
