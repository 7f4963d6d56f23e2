import { type FeatureGates, featureGateNames, featureGateTable } from '../config/feature-gates.ts'
import type { Family } from './exposition.ts'
import { gauge } from './series.ts'

/** Returns the metrics of this process, with client_golang's names and texts. */
export function processFamilies(startSeconds: number): Family[] {
  const { user, system } = process.cpuUsage()
  return [
    {
      name: 'process_cpu_seconds_total',
      type: 'counter',
      help: 'Total user and system CPU time spent in seconds.',
      samples: [{ value: (user + system) / 1e6 }],
    },
    gauge('process_resident_memory_bytes', 'Resident memory size in bytes.', process.memoryUsage.rss()),
    processStart(startSeconds),
  ]
}

/** Returns the start time of the process. Upstream: component-base/metrics/processstarttime. */
export const processStart = (startSeconds: number): Family =>
  gauge('process_start_time_seconds', 'Start time of the process since unix epoch in seconds.', startSeconds)

export interface BuildInfo {
  major: string
  minor: string
  gitVersion: string
  gitCommit: string
  gitTreeState: string
  buildDate: string
  goVersion: string
  compiler: string
  platform: string
}

/** Returns the version of the build. Upstream: component-base/metrics/version.go. */
export const buildInfo = (version: BuildInfo): Family => ({
  name: 'kubernetes_build_info',
  type: 'gauge',
  help: "[BETA] A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.",
  samples: [
    {
      labels: {
        major: version.major,
        minor: version.minor,
        git_version: version.gitVersion,
        git_commit: version.gitCommit,
        git_tree_state: version.gitTreeState,
        build_date: version.buildDate,
        go_version: version.goVersion,
        compiler: version.compiler,
        platform: version.platform,
      },
      value: 1,
    },
  ],
})

/** Returns the stage and the state of each feature gate. Upstream: component-base/metrics/prometheus/feature. */
export const featureEnabled = (gates: FeatureGates): Family => ({
  name: 'kubernetes_feature_enabled',
  type: 'gauge',
  help: '[BETA] This metric records the data about the stage and enablement of a k8s feature.',
  samples: featureGateNames.map((name) => ({
    labels: { name, stage: featureGateTable[name].stage },
    value: gates[name] ? 1 : 0,
  })),
})
