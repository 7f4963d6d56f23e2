import { StatusError } from '../../shared/api/status/status-error.ts'
import type { ConfigMap } from '../../shared/api/types.ts'
import { configMaps } from '../../shared/client/resources.ts'
import { type ClusterAccess, createRestClient } from '../../shared/client/rest-client.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { createBackoff } from '../../shared/concurrency/backoff.ts'
import { ConfigError } from '../../shared/config/option.ts'
import { type Expected, trustedCa, UnsignedError } from './cluster-info.ts'

export interface DiscoverOptions extends Omit<Expected, 'place'> {
  /** URLs; the first that answers is used. */
  servers: readonly string[]
  /** Holds the machine's clock. */
  clock: Clock
}

export interface Discovered {
  server: string
  /** Holds the certificate in PEM. */
  ca: string
}

const patienceMs = 10_000
const retry = { initialMs: 100, maxMs: 2_000 }
const requestTimeoutMs = 5_000
const clusterInfo = { namespace: 'kube-public', name: 'cluster-info' }

/**
 * Asks the servers, in turn, for the cluster that they serve, and trusts what the token and the pins prove. Then asks
 * again over a connection that the CA proves. Throws a ConfigError.
 */
export async function discover(options: DiscoverOptions): Promise<Discovered> {
  const { servers, clock } = options
  const backoff = createBackoff(retry)
  const deadline = clock.monotonic() + patienceMs
  for (;;) {
    const failures: Error[] = []
    for (const server of servers) {
      try {
        return await ask(server, options)
      } catch (error) {
        if (!(error instanceof UnsignedError || error instanceof UnreachableError)) throw error
        failures.push(error)
      }
    }
    if (clock.monotonic() > deadline) throw failures[0]
    await clock.sleep(backoff.next())
  }
}

/** The server cannot be reached; it may be starting. */
class UnreachableError extends ConfigError {}

async function ask(server: string, { clock, ...expected }: DiscoverOptions): Promise<Discovered> {
  const place = new URL(server).host
  const first = await readInfo({ server, insecureSkipTlsVerify: true }, clock)
  const ca = trustedCa(first, { ...expected, place })
  const again = await readInfo({ server, ca }, clock)
  if (again.kubeconfig !== first.kubeconfig)
    throw new ConfigError(
      `${place}: cluster-info differs when it is read over a connection verified with the CA: it was changed in transit`,
    )
  return { server, ca }
}

async function readInfo(access: ClusterAccess, clock: Clock): Promise<Record<string, string>> {
  const client = createRestClient({ ...access, clock, requestTimeoutMs })
  try {
    return (await client.get<ConfigMap>(configMaps, clusterInfo)).data ?? {}
  } catch (error) {
    throw explained(error as Error, access)
  } finally {
    await client.close()
  }
}

function explained(error: NodeJS.ErrnoException, { server, ca }: ClusterAccess): ConfigError {
  const { host, hostname } = new URL(server)
  if (error instanceof StatusError) {
    if (error.code === 429 || error.code >= 500) return new UnreachableError(`${host}: ${error.message}`)
    return new ConfigError(
      `${host} does not serve ConfigMap kube-public/cluster-info to clients without credentials (${error.message}): is it the API server of Kubestage, or of a cluster made by kubeadm?`,
    )
  }
  if (ca !== undefined && /CERT|SIGNATURE|ISSUER/.test(error.code ?? ''))
    return new ConfigError(
      `${host}: its certificate does not prove that it is ${hostname} (${error.message}): start the cluster with --tls-san ${hostname}`,
    )
  return new UnreachableError(
    `${host} cannot be reached: ${error.message}; does the cluster run, and with --host of an address that this machine reaches?`,
  )
}
