import { dirname } from 'node:path'

/** Says what images whose names match a pattern are on this machine. */
export interface ImageEntry {
  /** Matches an image's name in any of its spellings; `*` stands for anything. */
  pattern: string
  /** The program with its arguments, see `entrypointOf`. */
  command?: string[]
  /** Folder that comes first on PATH. */
  path?: string
  /** Signal that asks its program to end, as an image's STOPSIGNAL. */
  stopSignal?: string
}

export type EntryOrigin = 'configuration' | 'added' | 'built in'

export interface KnownEntry extends ImageEntry {
  /** Given at the start, added since, or built into the kubelet. */
  origin: EntryOrigin
}

/** Sleeps until TERM, as the pause image does. */
const pause = ['sh', '-c', 'trap "exit 0" TERM INT; while :; do sleep 86400 & wait $!; done']

/** Lists images by the last part of their repository's name, whatever the registry and the tag. They are asked last. */
export const builtIn: readonly ImageEntry[] = [
  { pattern: 'pause', command: pause },
  { pattern: 'busybox', command: ['sh'] },
  { pattern: 'alpine', command: ['/bin/sh'] },
  { pattern: 'debian', command: ['bash'] },
  { pattern: 'ubuntu', command: ['/bin/bash'] },
  { pattern: 'bash', command: ['bash'] },
  { pattern: 'node', path: dirname(process.execPath) },
]

/** Describes the form of a configuration, which has a map for each property of a pattern. */
export interface ImageMap {
  commands: Record<string, string[]>
  paths: Record<string, string>
  stopSignals?: Record<string, string>
}

export function entriesOf({ commands, paths, stopSignals = {} }: ImageMap): ImageEntry[] {
  const patterns = new Set([...Object.keys(commands), ...Object.keys(paths), ...Object.keys(stopSignals)])
  return [...patterns].map((pattern) => ({
    pattern,
    ...(commands[pattern] && { command: commands[pattern] }),
    ...(paths[pattern] !== undefined && { path: paths[pattern] }),
    ...(stopSignals[pattern] !== undefined && { stopSignal: stopSignals[pattern] }),
  }))
}
