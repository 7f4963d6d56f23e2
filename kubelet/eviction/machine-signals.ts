import { readFile, statfs } from 'node:fs/promises'
import os from 'node:os'
import { existing } from '../images/garbage/image-disk.ts'
import type { Observations } from './signals.ts'

/**
 * Measures what this machine has left of memory, process ids, and the file systems that hold `rootDir` and the images.
 */
export async function machineSignals(rootDir: string, imageFolder = rootDir): Promise<Observations> {
  const [memory, nodefs, imagefs, pids] = await Promise.all([
    freeMemory(),
    fileSystem(rootDir, 'nodefs'),
    fileSystem(existing(imageFolder), 'imagefs'),
    freePids(),
  ])
  return {
    'memory.available': { available: memory, capacity: os.totalmem() },
    ...nodefs,
    ...imagefs,
    ...(pids && { 'pid.available': pids }),
  }
}

async function fileSystem(folder: string, name: 'nodefs' | 'imagefs'): Promise<Observations> {
  const { bavail, blocks, bsize, ffree, files } = await statfs(folder)
  return {
    [`${name}.available`]: { available: bavail * bsize, capacity: blocks * bsize },
    // Some file systems make inodes as they need them, and count none.
    ...(files > 0 && { [`${name}.inodesFree`]: { available: ffree, capacity: files } }),
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
