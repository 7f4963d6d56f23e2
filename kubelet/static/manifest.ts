import { createHash } from 'node:crypto'
import { kubernetesSchema } from '../../shared/api/json/yaml-schema.ts'
import type { ObjectMeta, Pod } from '../../shared/api/types.ts'
import { CONFIG } from '../pod/static-pod.ts'

export interface ManifestInput {
  /** Holds JSON or YAML. */
  text: string
  file: string
  nodeName: string
  /** When it was read, as a timestamp. */
  seen: string
}

/**
 * The pod that a file wants. Its name tells the node, its UID the content: the same file is the same pod also to the
 * next kubelet, a changed one another. Throws for what is no pod. Upstream: pkg/kubelet/config/common.go.
 */
export async function podFromManifest({ text, file, nodeName, seen }: ManifestInput): Promise<Pod> {
  const manifest = (await parse(text)) as Partial<Pod> | null
  const { spec } = manifest ?? {}
  const metadata = withoutServerFields(manifest?.metadata)
  if (manifest?.kind !== 'Pod' || !metadata?.name || !spec?.containers?.length)
    throw new Error(`${file} is not the manifest of a pod`)
  const hash = createHash('md5')
    .update(JSON.stringify([nodeName, file, metadata, spec]))
    .digest('hex')
  const tolerations = [...(spec.tolerations ?? []), { operator: 'Exists', effect: 'NoExecute' }]
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...metadata,
      name: `${metadata.name}-${nodeName}`,
      namespace: metadata.namespace || 'default',
      uid: metadata.uid || hash,
      annotations: { ...metadata.annotations, [CONFIG.hash]: hash, [CONFIG.seen]: seen, [CONFIG.source]: 'file' },
    },
    spec: { restartPolicy: 'Always', terminationGracePeriodSeconds: 30, ...spec, nodeName, tolerations },
    status: { phase: 'Pending' },
  }
}

/**
 * Removes the fields that only the API server sets, when a pod is deleted. A client's values are ignored, as in a
 * create.
 */
function withoutServerFields(metadata: Partial<ObjectMeta> = {}): Partial<ObjectMeta> {
  const { reason: _, deletionTimestamp: _at, deletionGracePeriodSeconds: _grace, ...own } = metadata
  return own
}

async function parse(text: string): Promise<unknown> {
  if (text.trimStart().startsWith('{')) return JSON.parse(text)
  const yaml = await import('js-yaml')
  return yaml.load(text, { schema: kubernetesSchema(yaml) })
}

/** Returns the mirror pod that the API shows for a static pod. */
export function mirrorOf(pod: Pod, node: { name: string; uid: string }): Pod {
  const { uid: _uid, annotations = {}, ...metadata } = pod.metadata
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...metadata,
      annotations: { ...annotations, [CONFIG.mirror]: annotations[CONFIG.hash] ?? '' },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: node.name, uid: node.uid, controller: true }],
    },
    spec: pod.spec,
  }
}
