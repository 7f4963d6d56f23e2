import { accessSync, constants, existsSync, statfsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { whyNotListening } from '../../cluster/free-port.ts'
import { findRunning } from '../access/running.ts'
import type { Finding } from './finding.ts'

/** A start needs this much space: for objects, certificates, logs, and what containers write. */
const plentyBytes = 100 * 1024 * 1024

/** Checks that the state folder, or its nearest parent that exists, can be written, and reports its free space. */
export async function stateFolder(stateDir: string): Promise<Finding> {
  const name = 'state'
  const remedy = 'choose another folder with --state-dir'
  const place = nearestThere(resolve(stateDir))
  try {
    accessSync(place, constants.W_OK)
  } catch {
    return { name, state: 'bad', found: `${stateDir} cannot be written`, remedy }
  }
  const { bavail, bsize } = statfsSync(place)
  const free = bavail * bsize
  const found = `${stateDir}, with ${shownBytes(free)} free`
  return free < plentyBytes ? { name, state: 'degraded', found, remedy } : { name, state: 'good', found }
}

const nearestThere = (folder: string): string => (existsSync(folder) ? folder : nearestThere(dirname(folder)))

function shownBytes(bytes: number): string {
  const gigabytes = bytes / 1024 ** 3
  return gigabytes >= 1 ? `${gigabytes.toFixed(0)} GB` : `${(bytes / 1024 ** 2).toFixed(0)} MB`
}

export interface ListeningOptions {
  host: string
  port: number
  /** The user chose it; another will not do. */
  isChosen: boolean
  stateDir: string
}

/** Checks that an API server can listen at the host and port of the settings. */
export async function listening({ host, port, isChosen, stateDir }: ListeningOptions): Promise<Finding> {
  const name = 'port'
  const { running } = findRunning(stateDir)
  if (running?.url.endsWith(`:${port}`)) {
    return { name, state: 'good', found: `${host}:${port}, where the cluster of ${stateDir} listens` }
  }
  const code = await whyNotListening(host, port)
  if (code === undefined) return { name, state: 'good', found: `${host}:${port} is free` }
  if (code === 'EADDRINUSE' && !isChosen) {
    return { name, state: 'good', found: `${host}:${port} is in use by another program, so up takes a free one` }
  }
  const found = `${host}:${port} cannot be used (${code})`
  return { name, state: 'bad', found, remedy: 'choose another with --port; 0 takes a free one' }
}
