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

/** Says which streams a request for exec or attach asks for. */
export interface WantedStreams {
  stdin: boolean
  stdout: boolean
  stderr: boolean
  tty: boolean
}

/** Returns true if the value fits in Go's uint16. */
const isSize = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 16

/** Terminal sizes are JSON objects one after the other: `{"Width":80,"Height":24}`. Anything else is passed over. */
export function parseSizes(text: string): TerminalSize[] {
  return [...text.matchAll(/\{[^{}]*\}/g)].flatMap(([json]) => {
    try {
      const { Width = 0, Height = 0 } = JSON.parse(json) as { Width?: unknown; Height?: unknown }
      return isSize(Width) && isSize(Height) ? [{ width: Width, height: Height }] : []
    } catch {
      return []
    }
  })
}
