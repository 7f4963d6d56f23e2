import { UsageError, type Values } from '../shared/config/option.ts'
import { duration } from '../shared/config/option-types.ts'
import { evictionConfig } from './eviction/options.ts'
import { verificationPolicy } from './images/access/verification-options.ts'
import { imageGarbagePolicy } from './images/garbage/options.ts'
import type { PodCidr } from './node/pod-cidr.ts'
import { criEndpoint, type RuntimeChoice } from './runtime-option.ts'
import type { imageOptions, podOptions, separationOptions } from './shared-options.ts'

/** Throws a UsageError for values that are right one by one, and do not fit together. */
export function checkOptions(
  values: Values<typeof imageOptions & typeof separationOptions & typeof podOptions> & {
    podCidr?: PodCidr
    runtime?: RuntimeChoice
  },
): void {
  evictionConfig(values)
  imageGarbagePolicy(values)
  verificationPolicy(values)
  if (values.network === 'pod' && ['loopback', 'host'].includes(values.podCidr ?? ''))
    throw new UsageError(
      `--network pod gives each pod an address of its own, so --pod-cidr cannot be ${values.podCidr}`,
    )
  if (values.network === 'pod' && criEndpoint(values.runtime ?? 'process') !== undefined)
    throw new UsageError('--network pod is for --runtime process: a container runtime has networks of its own, by CNI')
  if (values.podTunnel !== 'none' && values.network !== 'pod')
    throw new UsageError('--pod-tunnel leads to pods that have networks of their own: add --network pod')
  const { shutdownGracePeriod: all, shutdownGracePeriodCriticalPods: critical } = values
  if (critical <= all) return
  const [part, whole] = [critical, all].map((ms) => duration.show?.(ms))
  throw new UsageError(
    `shutdownGracePeriodCriticalPods (${part}) is a part of shutdownGracePeriod (${whole}), and cannot be longer`,
  )
}
