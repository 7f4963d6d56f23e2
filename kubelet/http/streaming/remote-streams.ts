import type { Readable, Writable } from 'node:stream'
import type { TerminalSize } from '../../runtime/container-runtime.ts'
import type { RemoteStatus } from './remote-status.ts'

/** The client of an exec or attach, whatever carries its streams. */
export interface RemoteStreams {
  stdin?: Readable
  stdout?: Writable
  stderr?: Writable
  onResize(listener: (size: TerminalSize) => void): void
  /** The last word: then everything is closed. */
  finish(status: RemoteStatus): void
  /** Aborts when the client has gone. */
  gone: AbortSignal
}

/** What a request for exec or attach asks for. */
export interface WantedStreams {
  stdin: boolean
  stdout: boolean
  stderr: boolean
  tty: boolean
}

/** Terminal sizes are JSON objects one after the other: `{"Width":80,"Height":24}`. */
export function parseSizes(text: string): TerminalSize[] {
  return [...text.matchAll(/\{[^{}]*\}/g)].flatMap(([json]) => {
    try {
      const { Width, Height } = JSON.parse(json) as { Width?: number; Height?: number }
      return [{ width: Width ?? 0, height: Height ?? 0 }]
    } catch {
      return []
    }
  })
}
