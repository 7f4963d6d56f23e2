import { ConfigError } from '../shared/config/option.ts'

interface Listening {
  host: string
  port: number
  /** How the two are chosen. */
  flags?: { host: string; port: string }
}

const ours = { host: '--host', port: '--port' }

const remedies: Record<string, (listening: Required<Listening>) => string> = {
  EADDRINUSE: ({ host, port, flags }) =>
    `port ${port} on ${host} is in use by another program; choose another with ${flags.port} (0 takes a free one)`,
  EACCES: ({ port, flags }) => `port ${port} needs more rights than we have; choose one above 1023 with ${flags.port}`,
  EADDRNOTAVAIL: ({ host, flags }) => `this machine has no address ${host}; choose another with ${flags.host}`,
  ENOTFOUND: ({ host, flags }) => `there is no host named ${host}; choose another with ${flags.host}`,
}

/** Turns a failure to listen into one clear sentence. */
export function explainListening({ host, port, flags = ours }: Listening): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    const explain = remedies[error.code ?? '']
    throw explain ? new ConfigError(explain({ host, port, flags })) : error
  }
}
