import { readFileSync } from 'node:fs'

const setting = '/proc/sys/net/ipv4/ip_unprivileged_port_start'

/** Returns the first port of the machine that any user may open. */
export function firstFreePort(): number {
  try {
    return Number(readFileSync(setting, 'utf8'))
  } catch {
    return 1024
  }
}

/** Says why a port of the machine cannot be opened, and how to get it where the kernel keeps it for root. */
export function whyRefused(port: number, error: NodeJS.ErrnoException, first = firstFreePort()): string {
  const what = `host port ${port} cannot be opened`
  if (error.code === 'EADDRINUSE') return `${what}: another program of this machine has it`
  if (error.code !== 'EACCES' || port >= first) return `${what}: ${error.message}`
  const how = `run sysctl net.ipv4.ip_unprivileged_port_start=${port} as root, or choose a hostPort from ${first} on`
  return `${what}: the kernel keeps ports below ${first} for root; ${how}`
}
