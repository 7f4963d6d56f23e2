import { ConfigError } from '../shared/config/option.ts'
import { whyNotListening } from './free-port.ts'

interface Listening {
  host: string
  port: number
  /** Names of the flags that choose host and port, if they are not `--host` and `--port`. */
  flags?: { host: string; port: string }
  /** Port 0 means that nothing listens. */
  isOptional?: boolean
}

const kubeletHost = '127.0.0.1'
const ours = { host: '--host', port: '--port' }

const freePort = ' (0 takes a free one)'

const remedies: Record<string, (host: string, port: number) => string> = {
  EADDRINUSE: (host, port) =>
    `port ${port} on ${host} is in use by another program; choose another with --port (0 takes a free one)`,
  EACCES: (_host, port) => `port ${port} needs more rights than we have; choose one above 1023 with --port`,
  EADDRNOTAVAIL: (host) => `this machine has no address ${host}; choose another with --host`,
  ENOTFOUND: (host) => `there is no host named ${host}; choose another with --host`,
}

/** Turns a failure to listen into one clear sentence. */
export function explainListening(listening: Listening): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    throw sentence(error.code, listening) ?? error
  }
}

/**
 * Checks, before the kubelet's process starts, that it can listen on the port. Rejects with a ConfigError if not; port
 * 0 means that nothing listens.
 */
export async function checkKubeletPort(port: number): Promise<void> {
  const code = port === 0 ? undefined : await whyNotListening(kubeletHost, port)
  const problem = sentence(code, { host: kubeletHost, port, flags: { ...ours, port: '--kubelet-port' } })
  if (problem) throw problem
}

function sentence(
  code: string | undefined,
  { host, port, flags = ours, isOptional }: Listening,
): ConfigError | undefined {
  const explain = remedies[code ?? '']
  if (!explain) return undefined
  const text = explain(host, port).replace(ours.port, flags.port).replace(ours.host, flags.host)
  return new ConfigError(isOptional ? text.replace(freePort, '') : text)
}
