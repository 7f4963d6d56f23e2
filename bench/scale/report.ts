import { aligned, figure } from '../report.ts'
import type { Scale } from './scale.ts'

const headings = [
  'pods',
  'pods/s',
  'server CPU ms per pod',
  'etcd CPU ms per pod',
  'server RSS MB',
  'etcd RSS MB',
  'etcd database MB',
  'list MB',
  'list s',
  'list CPU ms',
  'deliveries/s',
  'CPU µs per delivery',
]

/** A row for each step, and what was measured before the first. */
export function scaleText({ nodes, nodesSeconds, idlePerNode, steps, stopped }: Scale): string {
  const rows = steps.map(({ pods, seconds, cpuPerPod, rss, database, list, delivery }, i) => [
    pods.toLocaleString('en'),
    figure((pods - (steps[i - 1]?.pods ?? 0)) / seconds),
    ...[cpuPerPod.server, cpuPerPod.etcd, rss.server, rss.etcd, database].map(figure),
    ...[list.megabytes, list.seconds, list.cpuMs, delivery.perSecond, delivery.cpuMicroseconds].map(figure),
  ])
  const idle = `${figure(idlePerNode.server)} µs of the server's CPU time and ${figure(idlePerNode.etcd)} µs of etcd's`
  return [
    `${nodes.toLocaleString('en')} simulated nodes were Ready after ${figure(nodesSeconds)} s. Without pods a node takes ${idle} per second.`,
    aligned([headings, ...rows]),
    ...(stopped ? [`It stopped early: ${stopped}.`] : []),
  ].join('\n\n')
}
