import { extname, join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import type { Clock, Timer } from '../../../shared/clock/clock.ts'
import { type Credentials, ImageError } from '../../runtime/container-runtime.ts'
import type { Pulls } from '../../runtime/images/find-image.ts'
import { parseImageName } from '../../runtime/images/image-name.ts'
import type { ImageAccess } from '../access/image-access.ts'
import type { StoredImages } from '../stored-images.ts'
import type { PullOrder, PullReport, RemoveOrder } from './pull-messages.ts'
import type { RegistrySettings } from './settings.ts'

interface ImagePullsOptions {
  /** The folder of the store. */
  root: string
  settings: RegistrySettings
  clock: Clock
  /** Learns which change of the store is the kubelet's own. */
  stored: StoredImages
  access: ImageAccess
}

/** `.ts` in a checkout, `.js` where it was built. */
const workerFile = join(import.meta.dirname, `pull-worker${extname(import.meta.filename)}`)
/** The thread, which takes some memory, ends when nothing was pulled for so long. */
const idleMs = 30_000

/**
 * Pulls images in a thread of its own: unpacking, and the code of registries' protocol, are not the kubelet's. The
 * thread begins with the first pull.
 */
export class ImagePulls implements Pulls {
  readonly #options: ImagePullsOptions
  readonly #pending = new Map<number, PromiseWithResolvers<PullReport>>()
  #worker: Worker | undefined
  #idle: Timer | undefined
  #orders = 0

  constructor(options: ImagePullsOptions) {
    this.#options = options
  }

  /** Resolves when the image is in the store as the registry has it. Throws {@link ImageError}. */
  async pull(image: string, credentials: readonly Credentials[]): Promise<void> {
    this.#options.stored.expect(parseImageName(image))
    const { error, pulled } = await this.#order({ image, credentials })
    if (error) throw failed(error)
    if (pulled) this.#options.access.pulled(image, pulled.id, credentials[pulled.used])
  }

  mayUse: Pulls['mayUse'] = (image, found, credentials) => this.#options.access.mayUse(image, found, credentials)

  /** Removes an image with all its names. Resolves to false if a program of this machine uses it. */
  async remove(id: string): Promise<boolean> {
    const { error, isInUse } = await this.#order({ remove: id })
    if (error) throw failed(error)
    if (!isInUse) this.#options.access.forget(id)
    return !isInUse
  }

  async #order(order: Omit<PullOrder, 'id'> | Omit<RemoveOrder, 'id'>): Promise<PullReport> {
    this.#idle?.cancel()
    const id = this.#orders++
    const done = Promise.withResolvers<PullReport>()
    this.#pending.set(id, done)
    try {
      this.#worker ??= this.#start()
      this.#worker.postMessage({ id, ...order })
      return await done.promise
    } finally {
      this.#pending.delete(id)
      if (this.#pending.size === 0) this.#endWhenIdle()
    }
  }

  #start(): Worker {
    const { root, settings } = this.#options
    const worker = new (process.getBuiltinModule('node:worker_threads').Worker)(workerFile, {
      workerData: { root, settings },
    })
    worker.unref()
    worker.on('message', (report: PullReport) => this.#pending.get(report.id)?.resolve(report))
    const ended = (why: string): void => {
      if (this.#worker !== worker) return
      this.#worker = undefined
      for (const pending of this.#pending.values())
        pending.reject(failed({ message: `the thread that pulls images ${why}` }))
    }
    worker.on('error', (error: Error) => ended(`failed: ${error.message}`)).on('exit', () => ended('ended'))
    return worker
  }

  #endWhenIdle(): void {
    const end = (): void => {
      const worker = this.#worker
      this.#worker = undefined
      void worker?.terminate()
    }
    this.#idle = this.#options.clock.machine.setTimer(idleMs, end, { background: true })
  }
}

/** The status of containerd's answer, as the kubelet shows it: an unknown one by its words alone. */
const failed = ({ message, code = 'Unknown' }: { message: string; code?: string }): ImageError =>
  new ImageError('ErrImagePull', code === 'Unknown' ? message : `rpc error: code = ${code} desc = ${message}`)
