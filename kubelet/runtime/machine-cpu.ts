import { readFile } from 'node:fs/promises'

/** USER_HZ, in which the kernel tells times to programs: 100 on every architecture that Node runs on. */
export const ticksPerSecond = 100

/**
 * Processor time that the machine has used since it started, without waiting for devices; undefined where there is no
 * /proc.
 */
export async function machineCpuSeconds(): Promise<number | undefined> {
  const stat = await readFile('/proc/stat', 'latin1').catch(() => '')
  const fields = /^cpu +(.*)$/m.exec(stat)?.[1]?.split(' ').map(Number)
  if (!fields) return undefined
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = fields
  return (user + nice + system + irq + softirq + steal) / ticksPerSecond
}
