import { ConfigError } from '../shared/config/option.ts'

const remedies: Record<string, (host: string, port: number) => string> = {
  EADDRINUSE: (host, port) =>
    `port ${port} on ${host} is in use by another program; choose another with --port (0 takes a free one)`,
  EACCES: (_host, port) => `port ${port} needs more rights than we have; choose one above 1023 with --port`,
  EADDRNOTAVAIL: (host) => `this machine has no address ${host}; choose another with --host`,
  ENOTFOUND: (host) => `there is no host named ${host}; choose another with --host`,
}

/** Turns a failure to listen into one clear sentence. */
export function explainListening({
  host,
  port,
}: {
  host: string
  port: number
}): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    const explain = remedies[error.code ?? '']
    throw explain ? new ConfigError(explain(host, port)) : error
  }
}
