import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { Credentials } from '../../runtime/container-runtime.ts'
import { readName } from '../store/image-names.ts'
import { ImageInUse, ImageStore } from '../store/image-store.ts'
import { PullError } from './pull-error.ts'
import { pullImage } from './pull-image.ts'
import type { PullOrder, PullReport, RemoveOrder } from './pull-messages.ts'
import type { RegistrySettings } from './settings.ts'

const port = parentPort as MessagePort
const { root, settings } = workerData as { root: string; settings: RegistrySettings }
const store = new ImageStore(root)

port.on('message', async (order: PullOrder | RemoveOrder) => {
  const report = (result: Omit<PullReport, 'id'>): void =>
    port.postMessage({ id: order.id, ...result } satisfies PullReport)
  try {
    if ('remove' in order) {
      await store.remove(store.images.all().filter(({ id }) => id === order.remove))
      return report({})
    }
    const { image, credentials } = order
    let used = -1
    const onAccess = (one: Credentials | undefined): void => {
      used = one ? credentials.indexOf(one) : -1
    }
    const { id } = await pullImage(store, readName(image), { settings, credentials, byKubelet: true, onAccess })
    report({ pulled: { id, used } })
  } catch (error) {
    if (error instanceof ImageInUse) return report({ isInUse: true })
    report({ error: { message: (error as Error).message, code: error instanceof PullError ? error.code : 'Unknown' } })
  }
})
