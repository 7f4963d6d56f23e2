import { readFile, statfs } from 'node:fs/promises'
import os from 'node:os'

/** Holds the facts about the machine that the node's status reports. */
export interface MachineFacts {
  cpus: number
  memoryBytes: number
  diskBytes: number
  machineId: string
  bootId: string
  kernelVersion: string
  osImage: string
  arch: string
}

/** Where the machine does not say, a plausible value stands: a Node without capacity takes no pods. */
export async function machineFacts(rootDir: string): Promise<MachineFacts> {
  const [machineId, bootId, release, disk] = await Promise.all([
    textOf('/etc/machine-id'),
    textOf('/proc/sys/kernel/random/boot_id'),
    textOf('/etc/os-release'),
    statfs(rootDir).catch(() => ({ blocks: 0, bsize: 0 })),
  ])
  return {
    cpus: os.availableParallelism(),
    memoryBytes: os.totalmem(),
    diskBytes: disk.blocks * disk.bsize,
    machineId: machineId || '0'.repeat(32),
    bootId: bootId || '00000000-0000-0000-0000-000000000000',
    kernelVersion: os.release(),
    osImage: /^PRETTY_NAME="?([^"\n]*)/m.exec(release)?.[1] || os.type(),
    arch: process.arch,
  }
}

const textOf = (file: string): Promise<string> =>
  readFile(file, 'utf8').then(
    (text) => text.trim(),
    () => '',
  )
