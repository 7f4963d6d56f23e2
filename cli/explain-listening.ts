import { ConfigError } from '../shared/config/option.ts'

interface Listening {
  host: string
  port: number
  /** What the flags are called by which the two are chosen, where not as ours. */
  flags?: { host: string; port: string }
}

const ours = { host: '--host', port: '--port' }

const remedies: Record<string, (host: string, port: number) => string> = {
  EADDRINUSE: (host, port) =>
    `port ${port} on ${host} is in use by another program; choose another with --port (0 takes a free one)`,
  EACCES: (_host, port) => `port ${port} needs more rights than we have; choose one above 1023 with --port`,
  EADDRNOTAVAIL: (host) => `this machine has no address ${host}; choose another with --host`,
  ENOTFOUND: (host) => `there is no host named ${host}; choose another with --host`,
}

/** Turns a failure to listen into one clear sentence. */
export function explainListening({ host, port, flags = ours }: Listening): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    const explain = remedies[error.code ?? '']
    if (!explain) throw error
    throw new ConfigError(explain(host, port).replace(ours.port, flags.port).replace(ours.host, flags.host))
  }
}
