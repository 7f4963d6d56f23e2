import { type ControllerName, controllerNames, isEnabled } from '../shared/config/controller-names.ts'
import { defaultFeatureGates, type FeatureGates } from '../shared/config/feature-gates.ts'
import type { KeyPair } from '../shared/pki/certificate.ts'
import { startBootstrapSigner } from './bootstrap-tokens/bootstrap-signer.ts'
import { startTokenCleaner } from './bootstrap-tokens/token-cleaner.ts'
import { startCertificatesController } from './certificates/certificates-controller.ts'
import { startClusterRoleAggregation } from './clusterrole-aggregation.ts'
import type { ApiResources, Controller, ControllerContext, PathClient } from './controller.ts'
import { startCronJobController } from './cron-job/cron-job-controller.ts'
import { startDaemonSetController } from './daemon-set/daemon-set-controller.ts'
import { startDeploymentController } from './deployment/deployment-controller.ts'
import { startDisruptionController } from './disruption/disruption-controller.ts'
import { startEndpointSliceController } from './endpoints/endpoint-slice-controller.ts'
import { startEndpointSliceMirroring } from './endpoints/endpoint-slice-mirroring-controller.ts'
import { startEndpointsController } from './endpoints/endpoints-controller.ts'
import { startGarbageCollector } from './garbage-collector/garbage-collector.ts'
import { startHorizontalPodAutoscaler } from './horizontal-pod-autoscaler/autoscaler-controller.ts'
import type { AutoscalerSettings } from './horizontal-pod-autoscaler/types.ts'
import { startJobController } from './job/job-controller.ts'
import { startNamespaceController } from './namespace/namespace-controller.ts'
import { startNodeIpam } from './node-ipam.ts'
import { startNodeLifecycle } from './node-lifecycle/node-lifecycle.ts'
import { startPodGarbageCollector } from './pods/pod-gc.ts'
import { startTaintEviction } from './pods/taint-eviction.ts'
import { type PolicyStatusOptions, startPolicyStatus } from './policy-status.ts'
import { replicaSetFlavor, replicationControllerFlavor } from './replica-set/flavors.ts'
import { startReplicaSetController } from './replica-set/replica-set-controller.ts'
import { startResourceQuotaController } from './resource-quota.ts'
import { startRootCaCertPublisher } from './service-accounts/root-ca-cert-publisher.ts'
import { startServiceAccountController } from './service-accounts/service-account.ts'
import { startServiceAccountTokenController } from './service-accounts/service-account-tokens.ts'
import { startServiceLoadBalancers } from './services/service-lb.ts'
import { startStatefulSetController } from './stateful-set/stateful-set-controller.ts'
import { startTtlAfterFinished } from './ttl-after-finished.ts'
import { startEphemeralVolumes } from './volumes/ephemeral-volumes.ts'
import type { VolumeFolders } from './volumes/provisioning.ts'
import { startVolumeController } from './volumes/volume-controller.ts'
import { startVolumeProtection } from './volumes/volume-protection.ts'

export interface ManagerOptions extends Pick<PolicyStatusOptions, 'checkTypes'> {
  /** All kinds that the server serves: the namespace controller and the garbage collector treat them alike. */
  resources: ApiResources
  /** Chooses the loops, in the form of kube-controller-manager's `--controllers`. Without it all of them run. */
  chosen?: readonly string[]
  /** Asks for metrics and sets scales. Absent: nothing is scaled. */
  paths?: PathClient
  /** Sets times of the autoscaler; each has upstream's default. */
  autoscaler?: Partial<AutoscalerSettings>
  /** A node that is silent for longer counts as lost; by default 50 s. */
  nodeMonitorGraceMs?: number
  /** The range out of which each node gets one for its pods. Absent or empty: they get none. */
  clusterCidr?: string
  /** Signs certificate requests with its key. Without it they are not signed. */
  ca?: KeyPair
  /**
   * Holds what is published to every namespace as kube-root-ca.crt, and is in tokens' Secrets. Without it neither is
   * made.
   */
  rootCa?: string
  /** Sets the feature gates; without it each gate has its default. */
  featureGates?: FeatureGates
  /** Makes volumes for claims without one. Absent: they wait. */
  volumeFolders?: VolumeFolders
}

/** Starts the loops of upstream's kube-controller-manager, under its names. */
export function startManagerLoops(context: ControllerContext, options: ManagerOptions): Controller[] {
  const { resources, ca, rootCa, chosen = ['*'], featureGates = defaultFeatureGates } = options
  const loops: Record<ControllerName, () => Controller | undefined> = {
    'service-lb-controller': () => startServiceLoadBalancers(context),
    'serviceaccount-controller': () => startServiceAccountController(context),
    'serviceaccount-token-controller': () =>
      rootCa === undefined ? undefined : startServiceAccountTokenController(context, rootCa),
    'root-ca-certificate-publisher-controller': () =>
      rootCa === undefined ? undefined : startRootCaCertPublisher(context, rootCa),
    'certificatesigningrequest-controller': () => ca && startCertificatesController(context, ca),
    'clusterrole-aggregation-controller': () => startClusterRoleAggregation(context),
    'persistentvolume-binder-controller': () => startVolumeController(context, options.volumeFolders),
    'persistentvolume-protection-controller': () => startVolumeProtection(context),
    'resourcequota-controller': () => startResourceQuotaController(context, resources),
    'namespace-controller': () => startNamespaceController(context, resources),
    'garbage-collector-controller': () => startGarbageCollector(context, resources),
    'node-lifecycle-controller': () => startNodeLifecycle(context, { monitorGraceMs: options.nodeMonitorGraceMs }),
    'node-ipam-controller': () => (options.clusterCidr ? startNodeIpam(context, options.clusterCidr) : undefined),
    'replicaset-controller': () => startReplicaSetController(context, replicaSetFlavor),
    'replicationcontroller-controller': () => startReplicaSetController(context, replicationControllerFlavor),
    'daemonset-controller': () => startDaemonSetController(context),
    'statefulset-controller': () => startStatefulSetController(context),
    'job-controller': () => startJobController(context),
    'horizontal-pod-autoscaler-controller': () =>
      options.paths &&
      startHorizontalPodAutoscaler(context, { resources, paths: options.paths, settings: options.autoscaler }),
    'ttl-after-finished-controller': () => startTtlAfterFinished(context),
    'bootstrap-signer-controller': () => startBootstrapSigner(context),
    'token-cleaner-controller': () => startTokenCleaner(context),
    'cronjob-controller': () => startCronJobController(context),
    'ephemeral-volume-controller': () => startEphemeralVolumes(context),
    'deployment-controller': () => startDeploymentController(context),
    'endpointslice-controller': () =>
      startEndpointSliceController(context, featureGates.EndpointSliceTerminatingCondition),
    'endpointslice-mirroring-controller': () => startEndpointSliceMirroring(context),
    'endpoints-controller': () => startEndpointsController(context),
    'disruption-controller': () => startDisruptionController(context, resources),
    'taint-eviction-controller': () => startTaintEviction(context),
    'pod-garbage-collector-controller': () => startPodGarbageCollector(context),
    'validatingadmissionpolicy-status-controller': () => startPolicyStatus(context, options),
  }
  return controllerNames.filter((name) => isEnabled(name, chosen)).flatMap((name) => loops[name]() ?? [])
}
