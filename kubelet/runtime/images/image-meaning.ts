import { existsSync } from 'node:fs'
import { ImageError } from '../container-runtime.ts'
import { defaultPath } from '../default-path.ts'
import { locateProgram } from '../executable.ts'
import { placeInRoot } from '../place-in-root.ts'
import { wordsToRun } from './entrypoint.ts'
import type { KnownEntry } from './image-entry.ts'
import type { Images } from './images.ts'
import { namedFiles } from './named-files.ts'

/** Says what a container with an image would run, and if that can be executed. */
export interface ImageMeaning {
  image: string
  entries: KnownEntry[]
  /** Holds the command with its arguments. */
  command: string[]
  /** Folders that come first on PATH. */
  path: string[]
  stopSignal?: string
  /** The ID of the image if it is loaded: its containers see its files, not the machine's. */
  loaded?: string
  /** The file that is executed. */
  program?: string
  /** Files that its arguments name, and that this machine does not have; a volume may. */
  missing?: string[]
  /** Says why the container does not start: the waiting reason and the message that the pod would show. */
  problem?: { reason: string; message: string }
}

/** Holds the command that a container sets itself. */
export interface OwnCommand {
  command?: readonly string[]
  args?: readonly string[]
  workingDir?: string
}

/**
 * Returns what a container with this image, and perhaps its own command, would run. Its files are taken to be this
 * machine's.
 */
export function meaningOf(images: Images, image: string, own: OwnCommand = {}): ImageMeaning {
  const { command = [], workingDir = '/' } = own
  try {
    const entries = images.entriesFor(image)
    const resolved = images.resolve(image, { hasCommand: command.length > 0 })
    const runs = wordsToRun(resolved, own)
    const { path, stopSignal } = resolved
    const { root } = resolved
    const hostPath = (file: string): string => (root ? placeInRoot(file, (path) => root.folder + path) : file)
    const missing = namedFiles(runs, workingDir).filter((file) => !existsSync(hostPath(file)))
    const meaning = {
      image,
      entries,
      command: runs,
      path,
      ...(stopSignal && { stopSignal }),
      ...(missing.length > 0 && { missing }),
      ...(root && { loaded: resolved.id }),
    }
    const searchPath = [...path, resolved.env.PATH || defaultPath].join(':')
    const found = locateProgram(runs, { searchPath, workingDir, hostPath })
    if ('file' in found) return { ...meaning, program: found.file }
    return { ...meaning, problem: { reason: 'RunContainerError', message: found.problem } }
  } catch (error) {
    if (!(error instanceof ImageError)) throw error
    return { image, entries: [], command: [], path: [], problem: { reason: error.reason, message: error.message } }
  }
}
