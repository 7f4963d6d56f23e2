import { isDeepStrictEqual } from 'node:util'
import { readRegularFile } from '../../../shared/files/regular-file.ts'
import { writePrivately } from '../../../shared/pki/files.ts'
import { entriesOf, type ImageEntry, type ImageMap } from './image-entry.ts'
import { createImages, type Images, type LoadedImages } from './images.ts'

/** Holds the changes that were made while the kubelet ran. */
interface Changes {
  added: ImageEntry[]
  removed: string[]
  configured: ImageEntry[]
}

/**
 * Images whose changes a kubelet that starts again finds in `file`. A file that is damaged changes nothing, and neither
 * does what it says of a pattern of which the configuration has said something else since.
 */
export function createKeptImages(
  map: ImageMap,
  file: string,
  loaded?: LoadedImages,
  options?: { standIns?: boolean },
): Images {
  const images = createImages(map, loaded, options)
  const configured = entriesOf(map)
  const { added, removed, ...before } = read(file)
  const of = (entries: ImageEntry[], pattern: string) => entries.find((entry) => entry.pattern === pattern)
  const isAsBefore = (pattern: string) => {
    const now = of(configured, pattern)
    return now === undefined || isDeepStrictEqual(now, of(before.configured, pattern))
  }
  for (const pattern of removed.filter(isAsBefore)) images.remove(pattern)
  for (const entry of added.reverse()) if (isAsBefore(entry.pattern)) images.add(entry)
  const changes = (): string => {
    const entries = images.entries()
    const there = new Set(entries.map(({ pattern }) => pattern))
    const found: Changes = {
      added: entries.filter(({ origin }) => origin === 'added').map(({ origin, ...entry }) => entry),
      removed: configured.map(({ pattern }) => pattern).filter((pattern) => !there.has(pattern)),
      configured,
    }
    return `${JSON.stringify(found)}\n`
  }
  let kept = changes()
  // Images of the store change as well, also when the whole folder is removed, which a write would make again.
  images.onChange(() => {
    const now = changes()
    if (now === kept) return
    kept = now
    writePrivately(file, now)
  })
  return images
}

function read(file: string): Changes {
  const none: Changes = { added: [], removed: [], configured: [] }
  try {
    return { ...none, ...(JSON.parse(readRegularFile(file)) as Partial<Changes>) }
  } catch {
    return none // not there, or damaged
  }
}
