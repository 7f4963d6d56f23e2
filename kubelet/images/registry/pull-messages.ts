import type { Credentials } from '../../runtime/container-runtime.ts'
import type { PullError } from './pull-error.ts'

/** Asks the thread that pulls for an image. */
export interface PullOrder {
  id: number
  /** Written as in a pod. */
  image: string
  credentials: readonly Credentials[]
}

/** Says how a pull ended; without an error the image is in the store. */
export interface PullReport {
  id: number
  error?: { message: string; code: PullError['code'] }
}
