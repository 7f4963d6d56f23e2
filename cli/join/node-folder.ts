import { join, resolve } from 'node:path'
import { isValidFor } from '../../kubelet/certificates/request-certificate.ts'
import { loadKubeconfig } from '../../shared/client/kubeconfig.ts'
import type { ClusterAccess } from '../../shared/client/rest-client.ts'
import { ConfigError, option } from '../../shared/config/option.ts'
import { folder } from '../../shared/config/option-types.ts'
import { inOneSentence } from '../../shared/config/system-errors.ts'
import type { KeyPair } from '../../shared/pki/certificate.ts'
import { readIfExists, writePrivately } from '../../shared/pki/files.ts'
import { kubeconfig } from '../../shared/pki/kubeconfig-file.ts'

/**
 * Defines the `--state-dir` flag of a node. Its default differs from a cluster's, because a node may join a cluster
 * that runs in the same folder.
 */
export const nodeFolderOption = option(folder, {
  default: '.kubestage-node',
  help: "Folder of the node: its credentials, the kubelet's files, its log",
})

/** Holds what a node remembers of the cluster that it joined. */
export interface Joined {
  nodeName: string
  /** Lists URLs of the API servers. */
  servers: readonly string[]
}

/** Names the files of a node that joined a cluster. The token is never stored there. */
export class NodeFolder {
  readonly root: string
  readonly kubeconfig: string
  readonly kubelet: string
  readonly logs: string
  readonly lock: string
  readonly #facts: string

  constructor(directory: string) {
    this.root = resolve(directory)
    this.kubeconfig = join(this.root, 'kubeconfig')
    this.kubelet = join(this.root, 'kubelet')
    this.logs = join(this.root, 'logs')
    this.lock = join(this.root, 'lock')
    this.#facts = join(this.root, 'node.json')
  }

  /** Lists all that a node keeps in its folder. */
  get entries(): readonly string[] {
    return [this.kubelet, this.logs, this.kubeconfig, this.lock, this.#facts]
  }

  /** Returns what has joined; undefined if no node has. Throws a ConfigError for a damaged file. */
  joined(): Joined | undefined {
    const text = this.#read()
    if (text === undefined) return undefined
    try {
      return JSON.parse(text) as Joined
    } catch {
      throw new ConfigError(`${this.#facts} is damaged: remove ${this.root}, and join again with a token`)
    }
  }

  /** The node's own credentials, with the certificate that it has now. */
  access(): Promise<ClusterAccess> {
    return loadKubeconfig(this.kubeconfig)
  }

  keep({ nodeName, servers }: Joined, { ca, ...user }: KeyPair & { ca: string }): void {
    const [server = ''] = servers
    writePrivately(this.kubeconfig, JSON.stringify(kubeconfig({ name: 'kubestage', server, ca, user })))
    this.remember({ nodeName, servers })
  }

  remember(joined: Joined): void {
    writePrivately(this.#facts, `${JSON.stringify(joined, undefined, 2)}\n`)
  }

  #read(): string | undefined {
    try {
      return readIfExists(this.#facts)
    } catch (error) {
      throw inOneSentence(error as Error) ?? error
    }
  }
}

export const isUsable = ({ cert }: ClusterAccess, nodeName: string, nowMs: number): boolean =>
  isValidFor(nodeName, { cert }, nowMs)
