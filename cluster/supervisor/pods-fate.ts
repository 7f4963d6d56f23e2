import type { Guardian } from '../guardian.ts'

/** What becomes of the pods when the process of the API server ends without having been asked to. */
export type PodsFate =
  /** They end with it, at once. */
  | { pods: 'killed' }
  /** Their kubelets, which live on for it, end them in order. `graceMs`: then they are killed. */
  | { pods: 'stopped'; graceMs: number }
  /**
   * They run on: the guardian holds their life line. `restarts`: how many servers there were before this one. Their
   * kubelets live until the next server's begin. `hold` tells the guardian which of them it may ask to end their pods
   * instead.
   */
  | { pods: 'kept'; lifeLine: number; restarts: number; hold: Guardian['hold'] }

/** Whether a server before this one started them: then they run on also where this one fails to start. */
export const areTakenOver = (fate: PodsFate): boolean => fate.pods === 'kept' && fate.restarts > 0

export const killed: PodsFate = { pods: 'killed' }
