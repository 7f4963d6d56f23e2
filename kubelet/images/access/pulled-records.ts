import { createHash } from 'node:crypto'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../../../shared/files/make-folder.ts'
import type { Credentials } from '../../runtime/container-runtime.ts'
import { type Digest, hexOf } from '../digest.ts'

/** Names a secret with which an image was pulled, and holds the hash of what it said. */
export interface PullSecret {
  namespace: string
  name: string
  uid: string
  hash: string
}

/** Says who may use an image by a repository's name without asking its registry. */
export interface Access {
  /** True for an image that was pulled without a pod's secret. */
  everyone?: boolean
  secrets: PullSecret[]
}

/** Holds the access to an image by each repository that it was pulled from. */
type PulledRecord = Record<string, Access>

/** Upstream's bound on what is added by pods that already may use the image. */
const mostSecrets = 100

/**
 * Keeps with which secrets kubelets have pulled images, in one file for each image. Upstream:
 * pkg/kubelet/images/pullmanager. Kubelets that share a store share the records.
 */
export class PulledRecords {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  accessTo(image: Digest, repository: string): Access | undefined {
    return this.#read(image)[repository]
  }

  /** Adds what a pull has shown: these credentials give access, or none are needed. */
  add(image: Digest, repository: string, credentials: Credentials | undefined): void {
    const record = this.#read(image)
    const before = record[repository]
    if (before?.everyone) return
    const secret = credentials && secretOf(credentials)
    if (!secret) {
      this.#write(image, { ...record, [repository]: { everyone: true, secrets: [] } })
      return
    }
    const isSame = ({ namespace, name, uid }: PullSecret): boolean =>
      namespace === secret.namespace && name === secret.name && uid === secret.uid
    if (before?.secrets.some((one) => isSame(one) && one.hash === secret.hash)) return
    const secrets = [...(before?.secrets ?? []).filter((one) => !isSame(one)), secret].slice(-mostSecrets)
    this.#write(image, { ...record, [repository]: { secrets } })
  }

  forget(image: Digest): void {
    rmSync(this.#file(image), { force: true })
  }

  /** A file that is not there, or is damaged, gives access to no pod. */
  #read(image: Digest): PulledRecord {
    try {
      return JSON.parse(readFileSync(this.#file(image), 'utf8')) as PulledRecord
    } catch {
      return {}
    }
  }

  #write(image: Digest, record: PulledRecord): void {
    makeFolder(this.#folder)
    const draft = `${this.#file(image)}.${process.pid}`
    writeFileSync(draft, JSON.stringify(record), { mode: 0o600 })
    renameSync(draft, this.#file(image))
  }

  #file(image: Digest): string {
    return join(this.#folder, hexOf(image))
  }
}

/** Returns undefined for credentials that are not of a secret: all pods of the node have them. */
export function secretOf({ secret, ...credentials }: Credentials): PullSecret | undefined {
  const { username, password, identityToken = '' } = credentials
  const hash = createHash('sha256')
    .update(JSON.stringify([username, password, identityToken]))
    .digest('hex')
  return secret && { ...secret, hash }
}
