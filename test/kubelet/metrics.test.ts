/** What a kubelet counts, in upstream's words, and what bounds it. */

import fc from 'fast-check'
import t from 'tap'
import { evictionConfig, evictionOptions } from '../../kubelet/eviction/options.ts'
import { kubeletFamilies } from '../../kubelet/http/metrics/kubelet-page.ts'
import { resourceFamilies } from '../../kubelet/http/metrics/resource-page.ts'
import { KubeletMetrics } from '../../kubelet/metrics/kubelet-metrics.ts'
import { CpuMeter } from '../../kubelet/stats/cpu-meter.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import { defaultFeatureGates } from '../../shared/config/feature-gates.ts'
import { exposition } from '../../shared/metrics/exposition.ts'
import { parseMetrics } from '../harness/metrics.ts'
import { until } from '../harness/until.ts'
import { machine } from './machine.ts'

const termination = { reason: '', cause: 'PodDeleted', verdictType: 'Stopped', graceSeconds: 30, usedSeconds: 3 }

t.test('evictions and pod workers, line by line as a real kubelet tells them', async (t) => {
  const metrics = new KubeletMetrics()
  const defaults = Object.entries(evictionOptions).map(([name, { default: value }]) => [name, value])
  const eviction = evictionConfig(Object.fromEntries(defaults))
  const { start, create, clock, pod, runtime } = machine(t, {}, { metrics, eviction })
  const kubelet = await start()
  await create()
  await clock.advance(5_000)
  kubelet.eviction.induce('memory.available')
  await until(
    async () => {
      await clock.advance(1_000)
      return pod()?.status?.reason === 'Evicted'
    },
    { what: 'the pod to be evicted' },
  )
  const limits = { families: () => [] }
  const sources = () => ({
    metrics,
    limits,
    runtime,
    pods: [...kubelet.pods()],
    nodeName: 'n1',
    featureGates: defaultFeatureGates,
    startSeconds: 0,
  })
  // The status is told before the pod's worker has ended.
  const page = await until(
    async () => {
      await clock.advance(1_000)
      const told = exposition(await kubeletFamilies(sources()))
      return told.includes('kubelet_active_pods{static=""} 0\n') ? told : undefined
    },
    { what: 'the pod to be no active one' },
  )
  for (const line of [
    '# HELP kubelet_evictions [ALPHA] Cumulative number of pod evictions by eviction signal',
    '# TYPE kubelet_evictions counter',
    '# HELP kubelet_pod_worker_duration_seconds [ALPHA] Duration in seconds to sync a single pod. Broken down by operation type: create, update, or sync',
    '# TYPE kubelet_pod_worker_duration_seconds histogram',
    'kubelet_pod_worker_duration_seconds_count{operation_type="create"} 1',
    'kubelet_pod_worker_duration_seconds_count{operation_type="kill"} 1',
    'kubelet_pod_worker_duration_seconds_count{operation_type="terminated"} 1',
    'kubelet_started_pods_total 1',
    'kubelet_started_containers_total{container_type="container"} 1',
    'kubelet_active_pods{static=""} 0',
  ]) {
    t.ok(page.split('\n').includes(line), line)
  }
  t.match(page, '\nkubelet_evictions{eviction_signal="memory.available"} 1\n', 'an eviction is counted by its signal')
  await kubelet.close()
})

t.test('any reason is escaped, and reasons without end are few series', (t) => {
  const text = fc.string({ unit: 'binary', maxLength: 80 })
  const hostile = fc.constantFrom('"} 1\nkubelet_evictions 99', '\\', '\\"', 'a\nb', '# HELP x y', '\u2028', '{x="y"}')
  fc.assert(
    fc.property(fc.array(fc.oneof(text, hostile), { maxLength: 120 }), (reasons) => {
      const metrics = new KubeletMetrics()
      for (const reason of reasons) metrics.terminated({ ...termination, reason })
      const page = exposition(metrics.families())
      const lines = page.split('\n').filter((line) => line.startsWith('kubestage_terminations_total'))
      const parsed = parseMetrics(page)
      const [first] = reasons
      return (
        lines.length <= 56 &&
        parsed.value('kubelet_evictions') === undefined &&
        (first === undefined ||
          parsed.value('kubestage_terminations_total', { reason: first.slice(0, 64).toWellFormed() })! >= 1)
      )
    }),
    { numRuns: 40 },
  )
  t.pass('in every page')
  t.end()
})

t.test('what it says before anything happened, and how much grace was used', (t) => {
  const metrics = new KubeletMetrics()
  t.equal(exposition(metrics.families()), '', 'nothing happened, so nothing is told')
  metrics.terminated(termination)
  metrics.terminated({ ...termination, graceSeconds: 0 })
  const page = parseMetrics(exposition(metrics.families()))
  t.equal(page.value('kubestage_termination_grace_used_ratio_bucket', { le: '0.1' }), 1)
  t.equal(page.value('kubestage_termination_grace_used_ratio_count'), 1, 'of no grace there is no part')
  t.equal(page.value('kubestage_termination_duration_seconds_sum'), 6)
  metrics.rejected('OutOfcpu')
  metrics.rejected('OutOfexample.com/chip')
  metrics.rejected('SomethingElse')
  const rejections = parseMetrics(exposition(metrics.families()))
  for (const reason of ['OutOfcpu', 'OutOfExtendedResources', 'Other'])
    t.equal(rejections.value('kubelet_admission_rejections_total', { reason }), 1, reason)
  t.end()
})

t.test('processor time never falls, and its rate is that since the page before', async (t) => {
  const clock = createVirtualClock()
  const meter = new CpuMeter(clock)
  t.notOk('usageNanoCores' in meter.of('c', 2), 'no rate yet')
  await clock.advance(10_000)
  t.match(meter.of('c', 7), { usageCoreNanoSeconds: 7e9, usageNanoCores: 0.5e9 })
  await clock.advance(10_000)
  t.match(meter.of('c', 6), { usageCoreNanoSeconds: 7e9, usageNanoCores: 0 }, 'an orphan took its time along')
  meter.keep(new Set())
  t.notOk('usageNanoCores' in meter.of('c', 1), 'it is another one')
})

t.test('a resource page says when it was measured', (t) => {
  const cpu = { time: '', usageCoreNanoSeconds: 1.5e9 }
  const memory = { time: '', usageBytes: 4096, workingSetBytes: 4096, rssBytes: 4096 }
  const container = { name: 'c', startTime: '2026-01-01T00:00:00Z', cpu, memory, rootfs: { time: '', usedBytes: 0 } }
  const pod = {
    podRef: { name: 'p', namespace: 'ns', uid: 'u' },
    startTime: '',
    containers: [container],
    cpu,
    memory,
    'ephemeral-storage': { time: '', usedBytes: 0 },
    process_stats: { process_count: 1 },
  }
  const page = exposition(resourceFamilies({ node: { nodeName: 'n1', startTime: '' }, pods: [pod] }, 1_767_225_601_500))
  for (const line of [
    '# HELP container_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the container in core-seconds',
    '# TYPE container_cpu_usage_seconds_total counter',
    'container_cpu_usage_seconds_total{container="c",namespace="ns",pod="p"} 1.5 1767225601500',
    'container_memory_working_set_bytes{container="c",namespace="ns",pod="p"} 4096 1767225601500',
    'container_start_time_seconds{container="c",namespace="ns",pod="p"} 1767225600',
    'pod_cpu_usage_seconds_total{namespace="ns",pod="p"} 1.5 1767225601500',
    '# TYPE resource_scrape_error gauge',
    'resource_scrape_error 0',
  ]) {
    t.ok(page.split('\n').includes(line), line)
  }
  t.end()
})
