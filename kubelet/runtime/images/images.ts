import { createHash } from 'node:crypto'
import { ImageError, type ResolvedImage } from '../container-runtime.ts'
import { type ImageName, parseImageName, spellings } from './image-name.ts'

/** What images are on this machine: programs and folders of the host, by pattern. `*` stands for anything. */
export interface ImageMap {
  /** Pattern → command with its arguments. */
  commands: Record<string, string[]>
  /** Pattern → folder that comes first on PATH. */
  paths: Record<string, string>
  /** Pattern → signal that asks its program to end, as an image's STOPSIGNAL. */
  stopSignals?: Record<string, string>
}

export interface Images {
  /** Throws {@link ImageError}. With a command of its own a container needs no mapping: it runs the host's program. */
  resolve(image: string, options?: { hasCommand?: boolean }): ResolvedImage
}

interface Match {
  command?: string[]
  path: string[]
  stopSignal?: string
}

/** Sleeps until TERM, as the pause image does. */
const pause = ['sh', '-c', 'trap "exit 0" TERM INT; while :; do sleep 86400 & wait $!; done']
const shells: Record<string, string[]> = {
  busybox: ['sh'],
  alpine: ['/bin/sh'],
  debian: ['bash'],
  ubuntu: ['/bin/bash'],
  bash: ['bash'],
}

export function createImages(map: ImageMap): Images {
  const commands = Object.entries(map.commands).map(([pattern, command]) => ({ matches: matcher(pattern), command }))
  const stopSignals = Object.entries(map.stopSignals ?? {}).map(([pattern, signal]) => ({
    matches: matcher(pattern),
    signal,
  }))
  const paths = Object.entries(map.paths).map(([pattern, path]) => ({ matches: matcher(pattern), path }))

  function find(image: string, name: ImageName): Match | undefined {
    const names = [image, ...spellings(name)]
    const command = commands.find(({ matches }) => names.some(matches))?.command
    const path = paths.filter(({ matches }) => names.some(matches)).map((entry) => entry.path)
    return command || path.length > 0 ? { command, path } : undefined
  }

  const stopSignalOf = (image: string, name: ImageName): string | undefined =>
    stopSignals.find(({ matches }) => [image, ...spellings(name)].some(matches))?.signal

  return {
    resolve(image, { hasCommand = false } = {}) {
      if (image.startsWith('/')) return resolved(image, { command: [image], path: [] })
      const name = parseImageName(image)
      const match = find(image, name) ?? builtIn(name)
      const stopSignal = stopSignalOf(image, name)
      if (match) return resolved(image, { ...match, stopSignal })
      if (hasCommand) return resolved(image, { path: [], stopSignal })
      throw new ImageError(
        'ErrImagePull',
        `image "${image}" stands for no program of this machine: say which with --image '${pattern(name)}=/path/to/program', ` +
          `with --image-path '${pattern(name)}=/folder/first/on/PATH', or give the container a command`,
      )
    },
  }
}

function builtIn({ repository }: ImageName): Match | undefined {
  const base = repository.split('/').at(-1) ?? ''
  if (base === 'pause') return { command: pause, path: [] }
  const shell = shells[base]
  return shell && { command: shell, path: [] }
}

function resolved(image: string, { command = [], path, stopSignal }: Match): ResolvedImage {
  const digest = createHash('sha256')
    .update(JSON.stringify([image, command, path]))
    .digest('hex')
  return { id: `sha256:${digest}`, entrypoint: [], cmd: command, env: {}, path, stopSignal, present: true }
}

const pattern = ({ domain, repository }: ImageName): string =>
  `${domain === 'docker.io' ? repository.replace(/^library\//, '') : `${domain}/${repository}`}:*`

function matcher(pattern: string): (name: string) => boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
  const expression = new RegExp(`^${parts.join('.*')}$`)
  return (name) => expression.test(name)
}
