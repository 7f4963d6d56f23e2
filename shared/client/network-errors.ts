/** Node's network errors in the words of Go's net package, which Kubernetes' events and logs use. */
const texts: Record<string, string> = {
  ECONNREFUSED: 'connect: connection refused',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  EADDRNOTAVAIL: 'connect: cannot assign requested address',
  ETIMEDOUT: 'i/o timeout',
}

/** Says why a connection could not be made, in Go's words. */
export function dialError(error: NodeJS.ErrnoException, host: string, port: number): string {
  const known = texts[error.code ?? '']
  if (known) return `dial tcp ${hostPort(host, port)}: ${known}`
  if (error.code === 'ENOTFOUND' || error.code === 'EAI_AGAIN') return `dial tcp: lookup ${host}: no such host`
  if (error.code === 'ECONNRESET') return `read tcp ${hostPort(host, port)}: read: connection reset by peer`
  return error.message
}

export const hostPort = (host: string, port: number): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
