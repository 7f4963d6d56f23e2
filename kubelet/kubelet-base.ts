import type { Pod } from '../shared/api/types.ts'
import { defaultFeatureGates } from '../shared/config/feature-gates.ts'
import { makeFolder } from '../shared/files/make-folder.ts'
import { createEventRecorder } from './events/event-recorder.ts'
import { troubleOnly } from './events/trouble-only.ts'
import type { KubeletOptions } from './kubelet-options.ts'
import { KubeletMetrics } from './metrics/kubelet-metrics.ts'
import { machineFacts } from './node/machine.ts'
import { SeenImages } from './node/node-images.ts'
import { createUplink } from './node/uplink.ts'

/** Holds what all parts of a kubelet share: its options with their defaults, its connection, its events and its log. */
export type KubeletBase = Awaited<ReturnType<typeof kubeletBase>>

export async function kubeletBase(options: KubeletOptions) {
  const { clock, log, lossMark, nodeName, port, rootDir } = options
  const uplink = createUplink(options.client, {
    isCut: lossMark?.port !== undefined,
    onChange: (isCut) => (isCut ? lossMark?.set(port) : lossMark?.clear()),
  })
  const { client } = uplink
  const warn = (error: unknown, what: string, pod?: Pod): void =>
    log.warn({ err: error, ...(pod && { pod: nameOf(pod) }) }, what)
  const onError = (error: unknown): void => warn(error, 'an event was lost')
  const recorder = createEventRecorder({ client, clock, component: 'kubelet', host: nodeName, onError })
  const seenImages = new SeenImages(options.images, options.nodeStatusMaxImages)
  await seenImages.list().catch((error) => warn(error, 'the images of the node could not be listed'))
  makeFolder(rootDir)
  return {
    ...options,
    uplink,
    client,
    seenImages,
    machine: await machineFacts(rootDir),
    events: options.brief ? troubleOnly(recorder) : recorder,
    metrics: options.metrics ?? new KubeletMetrics(),
    podFiles: options.podFiles ?? true,
    featureGates: { ...defaultFeatureGates, ...options.featureGates },
    shortenRunningKills: options.shortenRunningKills ?? false,
    info: (fields: object, message: string) => log.info(fields, message),
    warn,
    malformed: (what: string, pod: Pod) => log.error({ pod: nameOf(pod) }, what),
  }
}

const nameOf = ({ metadata }: Pod): string => `${metadata.namespace}/${metadata.name}`
