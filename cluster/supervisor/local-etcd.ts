import { join } from 'node:path'
import { EtcdClient } from '../../apiserver/storage/etcd/client.ts'
import type { EtcdFiles } from '../../apiserver/storage/open-options.ts'
import type { StorageChoice } from '../../apiserver/storage/open-storage.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { ConfigError } from '../../shared/config/option.ts'
import { makeFolder } from '../../shared/files/make-folder.ts'
import { lowLimits } from '../../shared/limits/low-limits.ts'
import type { KeyPair } from '../../shared/pki/certificate.ts'
import { ensureCertificate } from '../../shared/pki/certificate-store.ts'
import { freePort } from '../free-port.ts'
import type { StateDirectory } from '../state-directory.ts'
import type { ChildSpec } from './child.ts'
import { KeptProcess } from './kept-process.ts'
import { lastWords } from './last-words.ts'
import { LeftRunning } from './left-running.ts'
import { tied } from './tied.ts'
import { tryProgram } from './try-program.ts'

const readyTimeoutMs = 20_000
const stopTimeoutMs = 5_000
const host = '127.0.0.1'

/** Prints the path of an etcd: of ETCD_BIN (several with colons between), of the PATH, or where packages put it. */
const find = `
IFS=:
for file in $ETCD_BIN $(command -v etcd) /usr/bin/etcd /usr/local/bin/etcd /opt/homebrew/bin/etcd; do
  [ -x "$file" ] && [ ! -d "$file" ] && printf %s "$file" && exit
done`

const etcdLog = ({ logs }: Pick<StateDirectory, 'logs'>): string => join(logs, 'etcd.log')

export interface LocalEtcdOptions {
  state: Pick<StateDirectory, 'root' | 'logs'>
  /** Holds the machine's clock. */
  clock: Clock
  onTrouble(line: string): void
  /** Runs for each etcd that is started. */
  onStart?(): void
}

/** Holds what an API server needs to reach the etcd. */
export interface LocalEtcdAccess extends Required<EtcdFiles> {
  storage: StorageChoice
}

/**
 * Runs an etcd for the cluster, with its data below the state directory, and starts it again when it ends. It ends with
 * this process, or with the guardian if there is one: then the next API server takes it over. It listens on loopback
 * and answers clients with a certificate of its own CA, which no user of the cluster has.
 */
export class LocalEtcd {
  readonly access: LocalEtcdAccess
  readonly #options: LocalEtcdOptions
  readonly #process: KeptProcess
  readonly #client: EtcdClient
  readonly #left: LeftRunning<Ports>
  #isReady = false

  private constructor(spec: ChildSpec, options: LocalEtcdOptions, { url, pki, left, ports }: LocalEtcdParts) {
    const { clock, onStart } = options
    this.#options = options
    this.#left = left
    this.access = { ...pki.files, storage: { engine: 'etcd', endpoints: [url] } }
    this.#client = new EtcdClient({ endpoints: [url], tls: { ...pki.client, ca: pki.ca.cert }, clock })
    this.#process = new KeptProcess({
      spec,
      clock,
      first: left.process(clock),
      onStart(child) {
        left.write(child, ports)
        onStart?.()
      },
      onCrash: (ending, inMs) => this.#crashed(ending, inMs),
    })
  }

  /** Resolves when it answers. Throws a ConfigError when there is none on this machine, or it does not start. */
  static async start(options: LocalEtcdOptions): Promise<LocalEtcd> {
    const { state, clock } = options
    const program = await tryProgram('sh', ['-c', find])
    if (!program) {
      throw new ConfigError(
        '--storage etcd: there is no etcd in ETCD_BIN, on the PATH or in the usual places; install it (apt-get install etcd-server, brew install etcd, or https://github.com/etcd-io/etcd/releases), or pass --storage sqlite:PATH',
      )
    }
    const folder = join(state.root, 'etcd')
    const left = new LeftRunning<Ports>(folder)
    const ports = left.place() ?? (await twoPorts())
    const url = `https://${host}:${ports.client}`
    const pki = etcdPki(join(folder, 'pki'), clock.now())
    const args = argsOf(join(folder, 'data'), { url, peer: `http://${host}:${ports.peer}`, pki })
    makeFolder(folder)
    const spec = { ...tied('etcd', [program, ...args]), logFile: etcdLog(state), stdin: left.lifeLine }
    const etcd = new LocalEtcd(spec, options, { url, pki, left, ports })
    try {
      await etcd.#answers()
    } catch (error) {
      await etcd.stop()
      throw new ConfigError(
        `--storage etcd: ${program} did not start: ${(error as Error).message}${lastWords(etcdLog(state))}${lowLimits()}`,
      )
    }
    return etcd
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  async stop(): Promise<void> {
    this.#client.close()
    await this.#process.stop(stopTimeoutMs)
    this.#left.forget()
  }

  async #answers(): Promise<void> {
    await this.#client.call('range', { key: 'a' }, { isRepeatable: true, timeoutMs: readyTimeoutMs })
    this.#isReady = true
  }

  #crashed(ending: string, restartInMs: number): void {
    this.#left.ended()
    if (!this.#isReady) return // reported as the reason why nothing starts
    this.#options.onTrouble(
      `etcd ended (${ending}) and starts again in ${restartInMs / 1000} s; what it acknowledged is kept`,
    )
  }
}

interface Ports {
  client: number
  peer: number
}

interface LocalEtcdParts {
  url: string
  pki: EtcdPki
  left: LeftRunning<Ports>
  ports: Ports
}

interface EtcdPki {
  ca: KeyPair
  client: KeyPair
  files: Required<EtcdFiles>
  /** Holds the certificate of etcd itself. */
  server: { cert: string; key: string }
}

function etcdPki(directory: string, nowMs: number): EtcdPki {
  const ca = ensureCertificate(directory, { name: 'ca', commonName: 'kubestage-etcd-ca', usage: 'ca' }, nowMs)
  const server = { name: 'server', commonName: 'etcd', usage: 'server', altNames: [host, 'localhost'] } as const
  ensureCertificate(directory, server, nowMs, ca)
  const client = ensureCertificate(directory, { name: 'client', commonName: 'kubestage', usage: 'client' }, nowMs, ca)
  const file = (name: string): string => join(directory, name)
  return {
    ca,
    client,
    files: { etcdCafile: file('ca.crt'), etcdCertfile: file('client.crt'), etcdKeyfile: file('client.key') },
    server: { cert: file('server.crt'), key: file('server.key') },
  }
}

/** The only member of its cluster: nothing speaks to its address for peers. */
const argsOf = (data: string, { url, peer, pki }: { url: string; peer: string; pki: EtcdPki }): string[] => [
  ...['--data-dir', data, '--listen-client-urls', url, '--advertise-client-urls', url],
  ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', `default=${peer}`],
  ...['--cert-file', pki.server.cert, '--key-file', pki.server.key],
  ...['--client-cert-auth', '--trusted-ca-file', pki.files.etcdCafile],
  ...['--logger', 'zap', '--log-level', 'warn'],
]

async function twoPorts(): Promise<Ports> {
  const [client, peer] = await Promise.all([freePort(host), freePort(host)])
  return client === peer ? twoPorts() : { client, peer }
}
