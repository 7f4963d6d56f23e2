import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { readName } from '../store/image-names.ts'
import { ImageStore } from '../store/image-store.ts'
import { PullError } from './pull-error.ts'
import { pullImage } from './pull-image.ts'
import type { PullOrder, PullReport } from './pull-messages.ts'
import type { RegistrySettings } from './settings.ts'

const port = parentPort as MessagePort
const { root, settings } = workerData as { root: string; settings: RegistrySettings }
const store = new ImageStore(root)

port.on('message', async ({ id, image, credentials }: PullOrder) => {
  const report = (error?: PullReport['error']): void => port.postMessage({ id, error } satisfies PullReport)
  try {
    await pullImage(store, readName(image), { settings, credentials })
    report()
  } catch (error) {
    report({ message: (error as Error).message, code: error instanceof PullError ? error.code : 'Unknown' })
  }
})
