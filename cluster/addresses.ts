/** `10.96.0.0/16` → `10.96.0.1`, the address of the `kubernetes` Service. */
export function firstAddress(cidr: string): string {
  const [network = ''] = cidr.split('/')
  return network.replace(/\d+$/, (last) => String(Number(last) + 1))
}

/** Returns the URL at which clients of this machine reach a port of the host. */
export const urlOf = (host: string, port: number): string => `https://${urlHost(host)}:${port}`

/** A client on this machine cannot speak to "all addresses". */
function urlHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
