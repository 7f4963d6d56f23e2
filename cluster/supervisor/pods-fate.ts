import type { Guardian } from '../guardian.ts'

/** Says what happens to the pods when the API server's process ends without having been asked to. */
export type PodsFate =
  /** The pods end with the server, at once. */
  | { pods: 'killed' }
  /**
   * The kubelets outlive the server for this purpose and end their pods in order. After `graceMs` the pods are killed.
   */
  | { pods: 'stopped'; graceMs: number }
  /**
   * The pods keep running: the guardian holds their life line. `restarts` counts the servers before this one. The
   * kubelets live until those of the next server begin. `hold` tells the guardian which kubelets it may ask to end
   * their pods instead.
   */
  | { pods: 'kept'; lifeLine: number; restarts: number; hold: Guardian['hold'] }

/** Returns whether an earlier server started the pods. Such pods keep running even if this server fails to start. */
export const areTakenOver = (fate: PodsFate): boolean => fate.pods === 'kept' && fate.restarts > 0

export const killed: PodsFate = { pods: 'killed' }
