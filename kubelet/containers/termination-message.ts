import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import type { ContainerRecord } from '../runtime/container-runtime.ts'
import { ANNOTATIONS } from '../runtime/recorded-container.ts'

const MAX_FILE_BYTES = 4096
const MAX_LOG_BYTES = 2048
const MAX_LOG_LINES = 80
/** Enough for so many long lines with their CRI prefix. */
const LOG_WINDOW_BYTES = 64 * 1024

/**
 * Adds to exited containers' records what they left as their last words. Read once each: a few kilobytes, not worth a
 * thread.
 */
export function createTerminationMessages(): (record: ContainerRecord) => ContainerRecord {
  const known = new WeakMap<ContainerRecord, string>()
  return (record) => {
    if (record.state === 'running') return record
    const words = known.get(record) ?? lastWords(record)
    known.set(record, words)
    if (!words) return record
    return { ...record, message: record.message ? `${record.message}: ${words}` : words }
  }
}

function lastWords({ annotations, exitCode, logPath }: ContainerRecord): string {
  const file = annotations[ANNOTATIONS.messageFile]
  const message = file ? read(file, () => 0, MAX_FILE_BYTES) : ''
  const fallback = annotations[ANNOTATIONS.terminationMessagePolicy] === 'FallbackToLogsOnError'
  return message || !fallback || exitCode === 0 ? message : logTail(logPath)
}

/** The end of a log in CRI's format: `<time> stdout F <line>`. A part of a line (`P`) has no newline of its own. */
export function logTail(file: string): string {
  const window = read(file, (size) => Math.max(0, size - LOG_WINDOW_BYTES), LOG_WINDOW_BYTES)
  const lines = window.split('\n').filter(Boolean).slice(-MAX_LOG_LINES)
  const texts = lines.map((line) => {
    const [, , tag, ...words] = line.split(' ')
    return `${words.join(' ')}${tag === 'P' ? '' : '\n'}`
  })
  return Buffer.from(texts.join('')).subarray(-MAX_LOG_BYTES).toString()
}

/** Returns an empty text if there is no such file: most containers leave no message. */
function read(file: string, from: (size: number) => number, length: number): string {
  let descriptor: number | undefined
  try {
    descriptor = openSync(file, 'r')
    const buffer = Buffer.alloc(length)
    const bytes = readSync(descriptor, buffer, 0, length, from(fstatSync(descriptor).size))
    return buffer.subarray(0, bytes).toString()
  } catch {
    return ''
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}
