import type { Credentials } from '../../runtime/container-runtime.ts'
import type { PullError } from './pull-error.ts'

/** Asks the thread that pulls for an image. */
export interface PullOrder {
  id: number
  /** Written as in a pod. */
  image: string
  credentials: readonly Credentials[]
}

/** Asks the thread that pulls to remove an image with all its names. */
export interface RemoveOrder {
  id: number
  /** Holds the ID of the image. */
  remove: string
}

/** Says how an order ended. */
export interface PullReport {
  id: number
  error?: { message: string; code: PullError['code'] }
  /** Names the image that was pulled, and which of the credentials gave it; -1: none were given. */
  pulled?: { id: string; used: number }
  /** A program of this machine uses the image, which stays. */
  isInUse?: boolean
}
