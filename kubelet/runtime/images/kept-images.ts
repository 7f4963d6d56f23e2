import { readRegularFile } from '../../../shared/files/regular-file.ts'
import { writePrivately } from '../../../shared/pki/files.ts'
import type { ImageEntry, ImageMap } from './image-entry.ts'
import { createImages, type Images } from './images.ts'

/** Holds the changes that were made while the kubelet ran. */
interface Changes {
  added: ImageEntry[]
  removed: string[]
}

/** Images whose changes a kubelet that starts again finds in `file`. A file that is damaged changes nothing. */
export function createKeptImages(map: ImageMap, file: string): Images {
  const images = createImages(map)
  const configured = new Set(images.entries().map(({ pattern }) => pattern))
  const { added, removed } = read(file)
  for (const pattern of removed) images.remove(pattern)
  for (const entry of added.reverse()) images.add(entry)
  images.onChange(() => {
    const entries = images.entries()
    const there = new Set(entries.map(({ pattern }) => pattern))
    const changes: Changes = {
      added: entries.filter(({ origin }) => origin === 'added').map(({ origin, ...entry }) => entry),
      removed: [...configured].filter((pattern) => !there.has(pattern)),
    }
    writePrivately(file, `${JSON.stringify(changes)}\n`)
  })
  return images
}

function read(file: string): Changes {
  try {
    return JSON.parse(readRegularFile(file)) as Changes
  } catch {
    return { added: [], removed: [] } // not there, or damaged
  }
}
