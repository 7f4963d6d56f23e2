import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { clusterOptions } from '../../../cluster/settings.ts'
import { type StateDirectory, stateDirectory } from '../../../cluster/state-directory.ts'
import { Child } from '../../../cluster/supervisor/child.ts'
import { kubeletLog, kubeletSpec, shimSpec } from '../../../cluster/supervisor/child-specs.ts'
import { writeKubeletFiles } from '../../../cluster/supervisor/kubelet-files.ts'
import { nodeIsReady } from '../../../cluster/supervisor/node-ready.ts'
import { createRestClient } from '../../../shared/client/rest-client.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { defaultsOf } from '../../../shared/config/option.ts'
import { ensureClusterPki } from '../../../shared/pki/cluster-pki.ts'
import type { Server } from '../server.ts'

const readyTimeoutMs = 120_000

/** A node as `kubestage up` runs it: the kubelet, which may be killed, and the shim, which holds its containers meanwhile. */
export class Kubelet {
  readonly nodeName: string
  readonly #place: StateDirectory
  readonly #servers: readonly Server[]
  readonly #shim: Child
  #kubelet: Child | undefined

  constructor(nodeName: string, { folder, servers }: { folder: string; servers: readonly Server[] }) {
    this.nodeName = nodeName
    this.#servers = servers
    this.#place = stateDirectory(join(folder, nodeName))
    const { root, pki: directory, logs, kubelet } = this.#place
    for (const each of [directory, logs, kubelet]) mkdirSync(each, { recursive: true })
    for (const file of ['ca.crt', 'ca.key'])
      cpSync(join(servers[0]!.stateDir, 'pki', file), join(directory, file), { force: true })
    const nowMs = realClock.now()
    const pki = ensureClusterPki({ directory, nowMs, host: '127.0.0.1', serviceAddress: '10.96.0.1', nodeName })
    writeKubeletFiles({
      settings: { ...defaultsOf(clusterOptions), nodeName },
      state: this.#place,
      clusterRoot: root,
      pki,
      urls: servers.map(({ url }) => url),
      timeOriginMs: Math.floor(nowMs / 1000) * 1000,
    })
    this.#shim = new Child(shimSpec(this.#place))
  }

  /** Resolves when its node is ready at the first server. */
  async start(): Promise<void> {
    this.restart()
    const [first] = this.#servers as [Server]
    const client = createRestClient({ ...first.access, server: first.url, clock: realClock })
    const logFile = kubeletLog(this.#place)
    const { nodeName } = this
    await nodeIsReady({ client, clock: realClock, nodeName, timeoutMs: readyTimeoutMs, controllers: ['-*'], logFile })
    await client.close()
  }

  restart(): void {
    this.#kubelet = new Child(kubeletSpec(this.#place))
    this.#kubelet.begin()
  }

  async kill(): Promise<void> {
    await this.#kubelet?.kill()
  }

  /** For SIGSTOP and SIGCONT. */
  signal(signal: NodeJS.Signals): void {
    this.#kubelet?.signal(signal)
  }

  async stop(): Promise<void> {
    this.signal('SIGCONT')
    await this.kill()
    this.#shim.release()
    await this.#shim.ended
  }
}
