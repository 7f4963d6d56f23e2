import { VolumeError } from './volume-payload.ts'

/** Limits all files that the kubelet writes for one pod, from config maps, secrets, tokens and the pod itself. */
const MOST_BYTES = 64 * 1024 * 1024
/** A file counts with this size in addition to its bytes. */
const FILE_BYTES = 8 * 1024

/** Charges a volume for a file of so many bytes. Throws a VolumeError if its pod exceeds its limit. */
export type Charge = (bytes: number) => void

/** Counts what the kubelet writes into the volumes of each pod: many items of a few bytes may name one large text. */
export class PayloadBudget {
  readonly #pods = new Map<string, { total: number; volumes: Map<string, number> }>()

  /** The volume is filled again: what it had does not count any more. */
  begin(podUid: string, volume: string): Charge {
    const pod = this.#pods.get(podUid) ?? { total: 0, volumes: new Map<string, number>() }
    this.#pods.set(podUid, pod)
    const set = (bytes: number): void => {
      pod.total += bytes - (pod.volumes.get(volume) ?? 0)
      pod.volumes.set(volume, bytes)
    }
    set(0)
    return (bytes) => {
      set((pod.volumes.get(volume) ?? 0) + bytes + FILE_BYTES)
      if (pod.total > MOST_BYTES) throw new VolumeError(tooMuch)
    }
  }

  forget(podUid: string): void {
    this.#pods.delete(podUid)
  }
}

const tooMuch = `the files that the kubelet writes into the volumes of this pod take more than ${MOST_BYTES} bytes`
