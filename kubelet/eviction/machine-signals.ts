import { readFile, statfs } from 'node:fs/promises'
import os from 'node:os'
import type { Observations } from './signals.ts'

/**
 * Measures what this machine has left of memory, process ids, and the file system that holds `rootDir`. The same file
 * system holds the images.
 */
export async function machineSignals(rootDir: string): Promise<Observations> {
  const [memory, disk, pids] = await Promise.all([freeMemory(), statfs(rootDir), freePids()])
  const nodefs = { available: disk.bavail * disk.bsize, capacity: disk.blocks * disk.bsize }
  const inodes = { available: disk.ffree, capacity: disk.files }
  return {
    'memory.available': { available: memory, capacity: os.totalmem() },
    'nodefs.available': nodefs,
    'imagefs.available': nodefs,
    // Some file systems make inodes as they need them, and count none.
    ...(inodes.capacity > 0 && { 'nodefs.inodesFree': inodes, 'imagefs.inodesFree': inodes }),
    ...(pids && { 'pid.available': pids }),
  }
}

async function freeMemory(): Promise<number> {
  const kibibytes = /^MemAvailable:\s+(\d+) kB$/m.exec(await textOf('/proc/meminfo'))?.[1]
  return kibibytes === undefined ? os.freemem() : Number(kibibytes) * 1024
}

async function freePids(): Promise<{ available: number; capacity: number } | undefined> {
  const [max, threads, load] = await Promise.all(
    ['/proc/sys/kernel/pid_max', '/proc/sys/kernel/threads-max', '/proc/loadavg'].map(textOf),
  )
  const running = /\/(\d+)/.exec(load ?? '')?.[1]
  const capacity = Math.min(Number.parseInt(max ?? '', 10), Number.parseInt(threads ?? '', 10))
  return running === undefined || !capacity ? undefined : { available: capacity - Number(running), capacity }
}

const textOf = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '')
