import { freePort, portOrFreeOne, whyNotListening } from './free-port.ts'
import type { Guardian } from './guardian.ts'
import type { ClusterSettings } from './settings.ts'

type Settings = Pick<ClusterSettings, 'host' | 'port' | 'apiservers'>

const highestPort = 65_535
/** Below the ports that systems give to outgoing connections: one that is free stays so until it is listened at. */
const quietPorts = { from: 20_000, count: 10_000 }
const attempts = 20

/**
 * Returns whether all API servers of the cluster listen at one port. Only Linux gives each connection to one of several
 * listeners by chance; on macOS the last of them would get all.
 */
export const sharesPort = ({ apiservers }: Settings): boolean => apiservers > 1 && process.platform === 'linux'

/**
 * Returns the port at which one of several API servers alone answers: the first has the port after the shared one.
 * Without a port of the user's choice, or where another program has it, it is a free one.
 */
export async function ownPort({ host, port }: Settings, number: number): Promise<number> {
  if (port > 0) return (await portOrFreeOne(host, Math.min(port + number, highestPort))) || freePort(host)
  for (let attempt = 0; attempt < attempts; attempt++) {
    const quiet = quietPorts.from + Math.floor(Math.random() * quietPorts.count)
    if ((await whyNotListening(host, quiet)) === undefined) return quiet
  }
  return freePort(host)
}

/** Rejects with the system's error if another program listens there already: a shared port alone would not tell. */
export async function checkNotShared({ host, port }: Settings, guardian: Guardian | undefined): Promise<void> {
  if (port === 0 || guardian?.restarts) return // our other servers may listen there
  const code = await whyNotListening(host, port)
  if (code) throw Object.assign(new Error(`cannot listen at port ${port}: ${code}`), { code })
}
