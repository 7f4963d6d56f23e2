import { mkdirSync } from 'node:fs'
import type { Container, Pod } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { withinLimit } from '../../shared/clock/within-limit.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import type { MachineFacts } from '../node/machine.ts'
import { nodeLogFolders, nodeLogs, podDir } from '../pod/folders.ts'
import type { ContainerRuntime, Mount } from '../runtime/container-runtime.ts'
import { hasPodNetworks } from '../runtime/pod-networks.ts'
import { type ContainerMountsOptions, containerMounts } from '../volumes/container-mounts.ts'
import { VolumeManager } from '../volumes/volume-manager.ts'
import type { Volume } from '../volumes/volume-payload.ts'
import { createVolumeSources } from '../volumes/volume-sources.ts'
import { newMessageFile } from './container-config.ts'
import { containerEnvironment } from './environment.ts'
import { createEnvironmentSources, type LiveEnvironmentSources } from './environment-sources.ts'
import { hostnameMount, hostsMount } from './hosts-file.ts'
import { PodFileBounds } from './pod-file-bounds.ts'
import { resolverMount } from './resolver-file.ts'

export interface ContainerSurroundingsOptions {
  client: Client
  clock: Clock
  events: EventRecorder
  runtime: ContainerRuntime
  machine: MachineFacts
  nodeIP: string
  /** The URL at which containers find the API server; by default the address of its service. */
  apiServer?: URL
  /** Holds the kubelet's own files: pods, logs. */
  rootDir: string
  /** Volumes, and files for last words, are made. */
  podFiles: boolean
  /** Returns the address of the cluster's DNS; by default there is none. */
  dnsServer?(): string | undefined
  warn(error: unknown, what: string): void
}

interface MountOptions extends Pick<ContainerMountsOptions, 'env' | 'imageFolders'> {
  podIP: string
  /** The container's files are those of an image. */
  ofImage: boolean
}

/** A container that waits longer than this for the services reports why it cannot start. */
const SERVICES_MS = 10_000

/**
 * Prepares what containers find around them: variables, volumes and files. It watches the services from its
 * construction on.
 */
export class ContainerSurroundings {
  readonly #options: ContainerSurroundingsOptions
  readonly #sources: LiveEnvironmentSources
  readonly #volumes: VolumeManager
  /** The kubelet writes files for pods that their containers see in places of their own. */
  readonly #canMount: boolean
  readonly #fileBounds: PodFileBounds
  /** Pods whose folders this kubelet has seen to. */
  readonly #folders = new Set<string>()
  /** A kubelet that has just started knows its pods sooner than the services that their containers are told of. */
  #servicesKnown: Promise<unknown> | undefined

  constructor(options: ContainerSurroundingsOptions) {
    const { client, clock, events, runtime, machine, nodeIP, apiServer, rootDir, podFiles } = options
    this.#options = options
    this.#sources = createEnvironmentSources({
      client,
      clock,
      nodeIP,
      apiServer,
      servesCluster: runtime.network !== undefined,
      machine,
      onError: (error) => options.warn(error, 'services could not be watched'),
    })
    this.#servicesKnown = this.#sources.synced().then(
      () => {
        this.#servicesKnown = undefined
      },
      () => {},
    )
    if (podFiles) for (const folder of nodeLogFolders(rootDir)) mkdirSync(folder, { recursive: true })
    this.#volumes = new VolumeManager({
      clock,
      events,
      sources: createVolumeSources({
        client,
        environment: this.#sources,
        podIP: (pod) => pod.status?.podIP ?? '',
        tokens: podFiles,
      }),
      podDir: (podUid) => podDir(rootDir, podUid),
      nodeLogs: nodeLogs(rootDir),
      podFiles,
      memoryFolders: runtime.memoryFolders,
    })
    this.#fileBounds = new PodFileBounds({ events, clock })
    this.#canMount = podFiles && runtime.capabilities().files !== 'host'
  }

  /** Resolves when all is known that starting a container needs. */
  synced(): Promise<void> {
    return this.#sources.synced()
  }

  environment(pod: Pod, container: Container, podIP: string): Promise<Record<string, string>> {
    const read = () => containerEnvironment(pod, container, podIP, this.#sources)
    const known = this.#servicesKnown
    return known ? withinLimit(known, SERVICES_MS, this.#options.clock.machine).then(read) : read()
  }

  /**
   * Returns the container's mounts; where its files are an image's also those that else are the machine's. Throws for
   * a volume that cannot be mounted.
   */
  mounts(pod: Pod, container: Container, { env, podIP, ofImage, imageFolders }: MountOptions): Mount[] {
    const { podFiles, rootDir, runtime } = this.#options
    if (!podFiles) return []
    const volumePath: VolumeManager['path'] = (...of) => this.#volumes.path(...of)
    const volumeMounts = containerMounts(pod, container, { env, volumePath, imageFolders })
    if (!this.#canMount) return volumeMounts
    const written = [
      hostsMount(pod, container, { podIP, rootDir, ownNetwork: hasPodNetworks(runtime), isNeeded: ofImage }),
      resolverMount(pod, container, { rootDir, isNeeded: ofImage, dnsServer: this.#options.dnsServer?.() }),
      ofImage ? hostnameMount(pod, container, rootDir) : undefined,
    ]
    return [...written.filter((mount) => mount !== undefined), ...volumeMounts]
  }

  /**
   * Returns the path of the container's termination message on this machine; empty where no container can be shown one.
   * It is the last of the files that the kubelet writes before the container starts: from now on others write to the
   * pod's folder.
   */
  messageFile(pod: Pod, container: string): string {
    if (!this.#canMount) return ''
    const file = newMessageFile(this.#options.rootDir, pod, container)
    this.#bound(pod)
    return file
  }

  /** Resolves when the pod's volumes stand; rejects when the signal aborts. */
  mountVolumes(pod: Pod, signal: AbortSignal): Promise<void> {
    const uid = pod.metadata.uid ?? ''
    if (this.#canMount && !this.#folders.has(uid)) {
      const isNew = mkdirSync(podDir(this.#options.rootDir, uid), { recursive: true }) !== undefined
      this.#folders.add(uid)
      // Containers of a kubelet before this one may write there.
      if (!isNew) this.#bound(pod)
    }
    return this.#volumes.mount(pod, signal)
  }

  #bound(pod: Pod): void {
    this.#fileBounds.add(pod, podDir(this.#options.rootDir, pod.metadata.uid ?? ''))
  }

  volumePath(pod: Pod, volume: Volume): string {
    return this.#volumes.path(pod, volume)
  }

  forget(podUid: string): void {
    this.#volumes.forget(podUid)
    this.#fileBounds.remove(podUid)
    this.#folders.delete(podUid)
  }

  close(): Promise<void> {
    this.#fileBounds.close()
    return this.#sources.close()
  }
}
