import type { KubeletConfig } from '../config.ts'
import { goDuration } from '../pod/go-duration.ts'

/** `/configz`: what this kubelet was told, as a KubeletConfiguration; fields that mean nothing here are left out. */
export function configz(config: KubeletConfig, port: number): object {
  const eviction = (durations: Record<string, number>) =>
    Object.fromEntries(Object.entries(durations).map(([signal, ms]) => [signal, goDuration(ms)]))
  return {
    kubeletconfig: {
      kind: 'KubeletConfiguration',
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      ...(config.staticPodPath && { staticPodPath: config.staticPodPath }),
      address: config.nodeIp,
      port,
      authentication: {
        x509: config.clientCaFile ? { clientCAFile: config.clientCaFile } : {},
        webhook: { enabled: true, cacheTTL: '2m0s' },
        anonymous: { enabled: false },
      },
      authorization: { mode: 'Webhook', webhook: { cacheAuthorizedTTL: '5m0s', cacheUnauthorizedTTL: '30s' } },
      healthzPort: config.healthzPort,
      maxPods: config.maxPods,
      imageMinimumGCAge: goDuration(config.imageMinimumGcAge),
      imageMaximumGCAge: goDuration(config.imageMaximumGcAge),
      imageGCHighThresholdPercent: config.imageGcHighThreshold,
      imageGCLowThresholdPercent: config.imageGcLowThreshold,
      nodeStatusMaxImages: config.nodeStatusMaxImages,
      imagePullCredentialsVerificationPolicy: config.imagePullCredentialsVerificationPolicy,
      ...(config.preloadedImagesVerificationAllowlist.length > 0 && {
        preloadedImagesVerificationAllowlist: config.preloadedImagesVerificationAllowlist,
      }),
      evictionHard: config.evictionHard,
      evictionSoft: config.evictionSoft,
      evictionSoftGracePeriod: eviction(config.evictionSoftGracePeriod),
      evictionMaxPodGracePeriod: config.evictionMaxPodGracePeriod,
      evictionMinimumReclaim: config.evictionMinimumReclaim,
      evictionPressureTransitionPeriod: goDuration(config.evictionPressureTransitionPeriod),
      crashLoopBackOff: { maxContainerRestartPeriod: goDuration(config.crashLoopBackOffMax) },
      allowedUnsafeSysctls: config.allowedUnsafeSysctls,
      containerLogMaxSize: config.containerLogMaxSize,
      containerLogMaxFiles: config.containerLogMaxFiles,
      featureGates: config.featureGates,
      shutdownGracePeriod: goDuration(config.shutdownGracePeriod),
      shutdownGracePeriodCriticalPods: goDuration(config.shutdownGracePeriodCriticalPods),
      ...(config.shutdownGracePeriodByPodPriority.length > 0 && {
        shutdownGracePeriodByPodPriority: config.shutdownGracePeriodByPodPriority,
      }),
    },
  }
}
