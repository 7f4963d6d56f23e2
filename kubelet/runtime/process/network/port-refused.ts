import type { HostPort } from '../../../../shared/api/pods/host-ports.ts'
import { textOf } from '../../../../shared/files/readable.ts'

/** Returns the first port of the machine that any user may open. */
export const firstFreePort = (): number => Number(textOf('/proc/sys/net/ipv4/ip_unprivileged_port_start') || 1024)

/** Says why a port of the machine cannot be opened. */
export function whyRefused(port: number, { code, message }: NodeJS.ErrnoException): string {
  const why = code === 'EADDRINUSE' ? 'another program of this machine has it' : message
  return `host port ${port} cannot be opened: ${why}`
}

/** Says why this machine does not open a port, from where it is reached, and how to get it. */
export function whyKept({ port, protocol, containerPort }: HostPort, first: number): string {
  const reached =
    protocol === 'UDP' ? '' : `; pods reach it, and this machine by kubectl port-forward to port ${containerPort}`
  const how = `run sysctl net.ipv4.ip_unprivileged_port_start=${port} as root, or choose a hostPort from ${first} on`
  return `host port ${port} is not opened on this machine, which keeps ports below ${first} for root${reached}; ${how}`
}
