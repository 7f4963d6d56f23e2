import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs'
import { pauseThread } from '../clock/pause.ts'
import { notAFile } from '../files/regular-file.ts'
import { ConfigError } from './option.ts'

const blockBytes = 64 * 1024
const stepMs = 20
/** A pipe may have no writer, or a silent one, for this long before its first byte. */
const patienceMs = { none: 2_000, silent: 60_000 }
/** No text that a command reads is longer. */
const maxTextBytes = 400 * 1024 * 1024

/**
 * Reads a file that a user names. It reads a pipe as well (`<(zcat FILE)`), but waits for its first byte only for a
 * bounded time. Throws the system's error, EFTYPE for a device, and a ConfigError for a pipe without a writer.
 */
export function* readInput(path: string): Generator<Buffer> {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const kind = fstatSync(descriptor)
    const block = Buffer.alloc(blockBytes)
    let waitedMs = 0
    for (let isFirst = true; ; ) {
      const read = tryRead(descriptor, block)
      if (read === 0 && !(isFirst && kind.isFIFO())) return
      if (read) {
        if (isFirst) checkKind(path, kind)
        isFirst = false
        yield Buffer.from(block.subarray(0, read))
        continue
      }
      if (isFirst && waitedMs > patienceMs[read === 0 ? 'none' : 'silent'])
        throw new ConfigError(`${path} is a pipe, and no program writes to it`)
      pauseThread(stepMs)
      waitedMs += stepMs
    }
  } catch (error) {
    throw Object.assign(error as Error, { path })
  } finally {
    closeSync(descriptor)
  }
}

/** Reads a file that a user names as one text. Throws a ConfigError if it is too long. */
export function readInputText(path: string): string {
  const parts: Buffer[] = []
  let length = 0
  for (const part of readInput(path)) {
    length += part.length
    if (length > maxTextBytes) throw new ConfigError(`${path} is longer than ${maxTextBytes / 1024 ** 2} MB`)
    parts.push(part)
  }
  return Buffer.concat(parts, length).toString('utf8')
}

/** Returns undefined where a writer has nothing yet. */
function tryRead(descriptor: number, block: Buffer): number | undefined {
  try {
    return readSync(descriptor, block)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return undefined
    throw error
  }
}

/** A device such as /dev/zero has no end. */
function checkKind(path: string, kind: Stats): void {
  if (!kind.isFile() && !kind.isFIFO()) throw notAFile(path)
}
