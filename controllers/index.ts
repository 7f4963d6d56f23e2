import type { Client } from '../shared/client/client.ts'
import { storageClasses } from '../shared/client/resources.ts'
import type { Clock } from '../shared/clock/clock.ts'
import { type ControllerName, controllerNames, isEnabled } from '../shared/config/controller-names.ts'
import type { Log } from '../shared/log/log.ts'
import type { KeyPair } from '../shared/pki/certificate.ts'
import { bootstrap, ensure } from './bootstrap.ts'
import { startBootstrapSigner } from './bootstrap-tokens/bootstrap-signer.ts'
import { ensureClusterInfo } from './bootstrap-tokens/cluster-info.ts'
import { ensureJoinPolicy } from './bootstrap-tokens/join-policy.ts'
import { startTokenCleaner } from './bootstrap-tokens/token-cleaner.ts'
import { startCertificatesController } from './certificates/certificates-controller.ts'
import { startClusterRoleAggregation } from './clusterrole-aggregation.ts'
import type { ApiResources, Controller, ControllerContext } from './controller.ts'
import { startCronJobController } from './cron-job/cron-job-controller.ts'
import { startDaemonSetController } from './daemon-set/daemon-set-controller.ts'
import { startDeploymentController } from './deployment/deployment-controller.ts'
import { startDisruptionController } from './disruption/disruption-controller.ts'
import { startEndpointSliceController } from './endpoints/endpoint-slice-controller.ts'
import { startEndpointSliceMirroring } from './endpoints/endpoint-slice-mirroring-controller.ts'
import { startEndpointsController } from './endpoints/endpoints-controller.ts'
import { startFlowSchemaController } from './flow-schemas.ts'
import { startGarbageCollector } from './garbage-collector/garbage-collector.ts'
import { createInformers } from './informers.ts'
import { startJobController } from './job/job-controller.ts'
import { startKubernetesService } from './kubernetes-service.ts'
import { startNamespaceController } from './namespace/namespace-controller.ts'
import { startNodeLifecycle } from './node-lifecycle/node-lifecycle.ts'
import { startPodGarbageCollector } from './pod-gc.ts'
import { replicaSetFlavor, replicationControllerFlavor } from './replica-set/flavors.ts'
import { startReplicaSetController } from './replica-set/replica-set-controller.ts'
import { startResourceQuotaController } from './resource-quota.ts'
import { startRootCaCertPublisher } from './root-ca-cert-publisher.ts'
import { startScheduler } from './scheduler/scheduler.ts'
import { startServerConfigMaps } from './server-config-maps.ts'
import { startServiceAccountController } from './service-account.ts'
import { startServiceAccountTokenController } from './service-account-tokens.ts'
import { startServiceIPAddresses } from './service-ip-addresses.ts'
import { startStatefulSetController } from './stateful-set/stateful-set-controller.ts'
import { startTaintEviction } from './taint-eviction.ts'
import { startTtlAfterFinished } from './ttl-after-finished.ts'
import { startVolumeProtection } from './volume-protection.ts'
import { startEphemeralVolumes } from './volumes/ephemeral-volumes.ts'
import { standardClass, type VolumeFolders } from './volumes/provisioning.ts'
import { startVolumeController } from './volumes/volume-controller.ts'

export type { Log } from '../shared/log/log.ts'
export type { ApiResource, ApiResources } from './controller.ts'

export interface ControllersOptions {
  client: Client
  clock: Clock
  log: Log
  /** All kinds that the server serves: the namespace controller and the garbage collector treat them alike. */
  resources: ApiResources
  scheduler: boolean
  /** Which loops, in the form of kube-controller-manager's `--controllers`; default: all. */
  chosen?: readonly string[]
  /** A node that is silent for longer counts as lost; by default 50 s. */
  nodeMonitorGraceMs?: number
  /** Its key signs certificate requests. */
  ca: KeyPair
  /**
   * What is published to every namespace as kube-root-ca.crt, and is in tokens' Secrets; by default the certificate of
   * `ca`.
   */
  rootCa?: string
  /** CA of the client certificates that the server accepts, in PEM; by default the certificate of `ca`. */
  clientCa?: string
  /** URL of the API server for machines that join the cluster. */
  serverUrl: string
  /** Of the `kubernetes` Service. */
  securePort: number
  kubernetesServiceIP: string
  /** Where the server listens: the address in the Service's Endpoints. */
  host: string
  /** The feature gate EndpointSliceTerminatingCondition; on by default. */
  terminatingEndpoints?: boolean
  /** Makes volumes for claims without one. Absent: they wait. */
  volumeFolders?: VolumeFolders
}

/** Starts all control loops; resolves when the system namespaces exist and every loop has seen what there is. */
export async function startControllers(options: ControllersOptions): Promise<Controller> {
  const { client, clock, log, resources, rootCa = options.ca.cert, clientCa = options.ca.cert } = options
  const service = { securePort: options.securePort, clusterIP: options.kubernetesServiceIP, host: options.host }
  await bootstrap(client, { ...service, clientCa, nowMs: clock.now() })
  await Promise.all([ensureClusterInfo(client, { url: options.serverUrl, ca: rootCa }), ensureJoinPolicy(client)])
  if (options.volumeFolders) await ensure(client, storageClasses, standardClass)
  const informers = createInformers({ client, clock, log })
  resources.follow({ onAdd: () => undefined, onRemove: (resource) => informers.drop(resource) })
  const context: ControllerContext = { client, informers, clock, log }
  const { chosen = ['*'] } = options
  const loops: Record<ControllerName, () => Controller> = {
    'serviceaccount-controller': () => startServiceAccountController(context),
    'serviceaccount-token-controller': () => startServiceAccountTokenController(context, rootCa),
    'root-ca-certificate-publisher-controller': () => startRootCaCertPublisher(context, rootCa),
    'certificatesigningrequest-controller': () => startCertificatesController(context, options.ca),
    'clusterrole-aggregation-controller': () => startClusterRoleAggregation(context),
    'persistentvolume-binder-controller': () => startVolumeController(context, options.volumeFolders),
    'persistentvolume-protection-controller': () => startVolumeProtection(context),
    'resourcequota-controller': () => startResourceQuotaController(context, resources),
    'namespace-controller': () => startNamespaceController(context, resources),
    'garbage-collector-controller': () => startGarbageCollector(context, resources),
    'node-lifecycle-controller': () => startNodeLifecycle(context, { monitorGraceMs: options.nodeMonitorGraceMs }),
    'replicaset-controller': () => startReplicaSetController(context, replicaSetFlavor),
    'replicationcontroller-controller': () => startReplicaSetController(context, replicationControllerFlavor),
    'daemonset-controller': () => startDaemonSetController(context),
    'statefulset-controller': () => startStatefulSetController(context),
    'job-controller': () => startJobController(context),
    'ttl-after-finished-controller': () => startTtlAfterFinished(context),
    'bootstrap-signer-controller': () => startBootstrapSigner(context),
    'token-cleaner-controller': () => startTokenCleaner(context),
    'cronjob-controller': () => startCronJobController(context),
    'ephemeral-volume-controller': () => startEphemeralVolumes(context),
    'deployment-controller': () => startDeploymentController(context),
    'endpointslice-controller': () => startEndpointSliceController(context, options.terminatingEndpoints),
    'endpointslice-mirroring-controller': () => startEndpointSliceMirroring(context),
    'endpoints-controller': () => startEndpointsController(context),
    'disruption-controller': () => startDisruptionController(context, resources),
    'taint-eviction-controller': () => startTaintEviction(context),
    'pod-garbage-collector-controller': () => startPodGarbageCollector(context),
  }
  const controllers = [
    startFlowSchemaController(context),
    startServiceIPAddresses(context),
    startServerConfigMaps(context, clientCa),
    startKubernetesService(context, service),
    ...controllerNames.filter((name) => isEnabled(name, chosen)).map((name) => loops[name]()),
    ...(options.scheduler ? [startScheduler(context)] : []),
  ]
  await informers.synced()
  return {
    async close() {
      await Promise.all(controllers.map((controller) => controller.close()))
      await informers.close()
    },
  }
}
