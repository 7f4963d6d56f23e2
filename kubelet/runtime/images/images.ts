import { createHash } from 'node:crypto'
import { ImageError, type ResolvedImage } from '../container-runtime.ts'
import { entrypointOf } from './entrypoint.ts'
import { builtIn, entriesOf, type ImageEntry, type ImageMap, type KnownEntry } from './image-entry.ts'
import { type ImageName, parseImageName, spellings } from './image-name.ts'

/** Maps the names of images to programs on this machine. The mapping may change while containers run. */
export interface Images {
  /** Built-in names, and containers' own commands, stand for programs of this machine. */
  readonly standIns: boolean
  /**
   * Throws {@link ImageError}. With a command of its own a container needs no mapping: it runs the host's program. A
   * volume needs an image with files.
   */
  resolve(image: string, options?: { hasCommand?: boolean; isVolume?: boolean }): ResolvedImage
  /** All entries, in the order in which they are asked: of several with a command the first one counts. */
  entries(): KnownEntry[]
  /** Returns the entries that match this image. Throws {@link ImageError} if the name is not an image's. */
  entriesFor(image: string): KnownEntry[]
  /** Adds the given properties to the pattern's entry. A new entry is asked before all others. */
  add(entry: ImageEntry): void
  /** Removes an entry. Returns false if there is none, or for a built-in one, which stays. */
  remove(pattern: string): boolean
  /** Calls back after each change. */
  onChange(listener: () => void): void
}

export interface LoadedImages {
  find(name: ImageName): ResolvedImage | undefined
  onChange(listener: () => void): void
}

/**
 * Resolves names: the user's mappings count before loaded images, and these before the built-in names and the programs
 * of containers' own commands, which `standIns: false` leaves out.
 */
export function createImages(
  map: ImageMap,
  loaded?: LoadedImages,
  { standIns = true }: { standIns?: boolean } = {},
): Images {
  let known: KnownEntry[] = entriesOf(map).map((entry) => ({ ...entry, origin: 'configuration' }))
  const listeners: (() => void)[] = []
  const change = (entries: KnownEntry[]): void => {
    known = entries
    for (const listener of listeners) listener()
  }

  function entriesFor(image: string): KnownEntry[] {
    if (image.startsWith('/')) return []
    const name = parseImageName(image)
    const names = [image, ...spellings(name)]
    const said = known.filter(({ pattern }) => names.some(matcher(pattern)))
    return !standIns || said.some(({ command, path }) => command || path) ? said : [...said, ...builtInFor(name)]
  }

  return {
    standIns,
    resolve(image, { hasCommand = false, isVolume = false } = {}) {
      if (isVolume) return volumeOf(image, loaded)
      if (image.startsWith('/')) return resolved(image, { command: [image], path: [] })
      const found = entriesFor(image)
      const stopSignal = found.find((entry) => entry.stopSignal)?.stopSignal
      const isMapped = found.some(({ command, path, origin }) => origin !== 'built in' && (command || path))
      const files = isMapped ? undefined : loaded?.find(parseImageName(image))
      if (files) return { ...files, ...(stopSignal && { stopSignal }) }
      const { command, origin } = found.find((entry) => entry.command) ?? {}
      const path = found.flatMap((entry) => entry.path ?? [])
      if (command || path.length > 0 || (hasCommand && standIns))
        return resolved(image, { command, isDefault: origin === 'built in', path, stopSignal })
      const pattern = patternOf(image)
      throw new ImageError(
        'ErrImagePull',
        `image "${image}" stands for no program of this machine: say which with kubestage image add '${pattern}' -- /path/to/program, ` +
          `or with --image '${pattern}=/path/to/program' at the start; or give the container a command`,
      )
    },
    entries: () => [...known, ...builtIn.map((entry): KnownEntry => ({ ...entry, origin: 'built in' }))],
    entriesFor,
    add(entry) {
      const before = known.find(({ pattern }) => pattern === entry.pattern)
      const after: KnownEntry = { ...before, ...entry, origin: 'added' }
      change(before ? known.map((one) => (one === before ? after : one)) : [after, ...known])
    },
    remove(pattern) {
      const rest = known.filter((entry) => entry.pattern !== pattern)
      if (rest.length === known.length) return false
      change(rest)
      return true
    },
    onChange(listener) {
      listeners.push(listener)
      loaded?.onChange(listener)
    },
  }
}

function volumeOf(image: string, loaded: LoadedImages | undefined): ResolvedImage {
  const found = loaded?.find(parseImageName(image))
  if (found) return found
  throw new ImageError('ErrImagePull', `image "${image}" is not loaded: load it with kubestage image load`)
}

const builtInFor = ({ repository }: ImageName): KnownEntry[] =>
  builtIn
    .filter(({ pattern }) => pattern === repository.split('/').at(-1))
    .map((entry) => ({ ...entry, origin: 'built in' }))

function resolved(
  image: string,
  {
    command,
    isDefault,
    path,
    stopSignal,
  }: { command?: string[]; isDefault?: boolean; path: string[]; stopSignal?: string },
): ResolvedImage {
  const digest = createHash('sha256')
    .update(JSON.stringify([image, command ?? [], path]))
    .digest('hex')
  // A built-in image has its command as default arguments, like a real image whose shell runs if nothing is specified.
  const words = !command || isDefault ? { entrypoint: [], cmd: command ?? [] } : entrypointOf(command)
  return { id: `sha256:${digest}`, ...words, env: {}, path, stopSignal, present: true }
}

/** Returns the pattern of all versions of an image. Throws {@link ImageError} if the name is not an image's. */
export function patternOf(image: string): string {
  const { domain, repository } = parseImageName(image)
  return `${domain === 'docker.io' ? repository.replace(/^library\//, '') : `${domain}/${repository}`}:*`
}

function matcher(pattern: string): (name: string) => boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
  const expression = new RegExp(`^${parts.join('.*')}$`)
  return (name) => expression.test(name)
}
