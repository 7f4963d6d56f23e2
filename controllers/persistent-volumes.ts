import type { V1PersistentVolume } from '@kubernetes/client-node'
import type { WithMeta } from '../shared/api/types.ts'
import { persistentVolumes } from '../shared/client/resources.ts'
import { createWorkQueue } from '../shared/concurrency/work-queue.ts'
import type { Controller, ControllerContext } from './controller.ts'

type PersistentVolume = WithMeta<V1PersistentVolume>

/** A volume that no claim has is available. Upstream: pkg/controller/volume/persistentvolume/pv_controller.go. */
export function startPersistentVolumeController({ client, informers, clock, log }: ControllerContext): Controller {
  const changed = ({ metadata }: PersistentVolume): void => queue.add(metadata.name ?? '')
  const volumes = informers.selected<PersistentVolume>(persistentVolumes, {
    handlers: [{ onAdd: changed, onUpdate: changed }],
  })
  const queue = createWorkQueue<string>({
    clock,
    async work(name) {
      const volume = volumes.get({ name })
      if (!volume || volume.spec?.claimRef || (volume.status?.phase ?? 'Pending') !== 'Pending') return
      await client.patch(persistentVolumes, { name }, { status: { phase: 'Available' } }, { subresource: 'status' })
    },
    onError: (error, volume) => log.warn({ err: error, volume }, 'cannot tell that a volume is available'),
  })
  return { close: () => queue.close() }
}
