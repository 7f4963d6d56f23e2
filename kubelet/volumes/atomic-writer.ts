import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { type GroupOwner, giveToGroup, giveToUser, mayChangeOwners } from './give-to-group.ts'

export interface VolumeFile {
  data: Buffer
  mode: number
  /** The user whose it is; else the kubelet's. */
  owner?: number
}
/** Maps paths inside the volume to files. No path is absolute or has `..`. */
export type Payload = Map<string, VolumeFile>

const DATA = '..data'
const NEW_DATA = '..data_tmp'

/**
 * Replaces a volume's files all at once, as pods know it: the visible names are links into `..data`, itself a link
 * to a directory of this version; one rename switches them. Nothing is touched when nothing has changed.
 */
export function writeAtomically(dir: string, payload: Payload, timestamp: string, group?: GroupOwner): void {
  mkdirSync(dir, { recursive: true, mode: 0o755 })
  const current = linkTarget(path.join(dir, DATA))
  if (current !== undefined && sameContent(path.join(dir, current), payload)) return
  const version = mkdtempSync(path.join(dir, `..${timestamp}.`))
  chmodSync(version, 0o755)
  for (const [name, { data, mode, owner }] of payload) {
    const file = path.join(version, name)
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o755 })
    writeFileSync(file, data)
    chmodSync(file, mode)
    if (owner !== undefined && mayChangeOwners()) giveToUser(file, owner)
  }
  const visible = new Set([...payload.keys()].map((name) => name.split('/')[0] ?? ''))
  const before = new Set(readdirSync(dir).filter((name) => !name.startsWith('..')))
  for (const name of visible) if (!before.has(name)) symlinkSync(path.join(DATA, name), path.join(dir, name))
  rmSync(path.join(dir, NEW_DATA), { force: true })
  symlinkSync(path.basename(version), path.join(dir, NEW_DATA))
  if (group && mayChangeOwners()) giveToGroup(dir, group)
  renameSync(path.join(dir, NEW_DATA), path.join(dir, DATA))
  for (const name of before) if (!visible.has(name)) rmSync(path.join(dir, name), { force: true })
  if (current !== undefined) rmSync(path.join(dir, current), { recursive: true, force: true })
}

function linkTarget(link: string): string | undefined {
  try {
    return readlinkSync(link)
  } catch {
    return undefined
  }
}

function sameContent(dir: string, payload: Payload): boolean {
  try {
    const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    if (files.length !== payload.size) return false
    return [...payload].every(([name, { data }]) => readFileSync(path.join(dir, name)).equals(data))
  } catch {
    return false
  }
}
