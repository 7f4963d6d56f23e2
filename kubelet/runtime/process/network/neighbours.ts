import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { AddressRange } from '../../../../shared/api/services/address-range.ts'
import type { Door } from './door.ts'

/** Names the node's network: a file that is its namespace, and the range of its pods. */
export interface KnownNetwork {
  file: string
  range: AddressRange
}

/**
 * Links the network of a node with those of the nodes that have met in this folder before: so their pods reach each
 * other, whatever the machine forwards. The links vanish with either network.
 */
export async function meetNeighbours(door: Pick<Door, 'build'>, folder: string, own: KnownNetwork): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const ownName = own.range.cidr.replace('/', '_')
  await writeFile(path.join(folder, ownName), own.file, { mode: 0o600 })
  for (const name of await readdir(folder)) {
    // Another file is the shims' own.
    if (name === ownName || !name.includes('_')) continue
    const file = await readFile(path.join(folder, name), 'utf8').catch(() => '')
    const words = [...wordsOf(own.range), ...wordsOf(new AddressRange(name.replace('_', '/')))]
    // Its node may have ended, or has just made the link itself.
    await door.build('neighbour', file, ...words).catch(() => {})
  }
}

/** Returns a node's own address, and its range, as the door wants them. */
export const wordsOf = (range: AddressRange): (string | number)[] => [
  range.at(0),
  range.cidr.split('/')[0] ?? '',
  range.bits,
]
