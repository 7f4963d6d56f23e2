import { watch } from 'node:fs'
import path from 'node:path'
import type { ContainerRuntime } from '../runtime/container-runtime.ts'
import { LogFile } from './log-file.ts'
import { LineCutter, LogRenderer } from './log-lines.ts'
import type { LogOptions } from './log-options.ts'

export interface ContainerLogRequest {
  runtime: ContainerRuntime
  containerId: string
  logPath: string
  options: LogOptions
  /** The client has gone. */
  signal: AbortSignal
}

/**
 * The bytes of one container's log as it is now. With `follow` it goes on until the container has ended and all is
 * read.
 */
export async function* containerLogs(request: ContainerLogRequest): AsyncGenerator<Buffer> {
  const { options, logPath, signal } = request
  const file = await LogFile.open(logPath, options)
  const changes = options.follow ? followChanges(request) : undefined
  const cutter = new LineCutter()
  const renderer = new LogRenderer(options)
  try {
    while (!signal.aborted && !renderer.full) {
      // Asked before reading: what is written between the two answers is found by the next round.
      const mayGrow = changes !== undefined && (await isRunning(request))
      const data = await file.read()
      if (data.length > 0) {
        const out: Buffer[] = []
        for (const line of cutter.cut(data)) {
          const text = renderer.render(line)
          if (text) out.push(text)
          if (renderer.full) break
        }
        if (out.length > 0) yield Buffer.concat(out)
      } else if (mayGrow) await changes?.next()
      else return
    }
  } finally {
    changes?.close()
    await file.close()
  }
}

async function isRunning({ runtime, containerId }: ContainerLogRequest): Promise<boolean> {
  const { containers } = await runtime.list()
  return containers.some(({ id, state }) => id === containerId && state === 'running')
}

/** Wakes the reader for each change of the log, the container's end, and the client's going. */
function followChanges({ runtime, logPath, signal }: ContainerLogRequest): { next(): Promise<void>; close(): void } {
  let changed = false
  let wake = () => {}
  const poke = () => {
    changed = true
    wake()
  }
  // The folder, and not the file: that is another one after a rotation.
  const watcher = watch(path.dirname(logPath), poke)
  watcher.on('error', poke)
  const forget = runtime.onEvent(poke)
  signal.addEventListener('abort', poke, { once: true })
  return {
    async next() {
      if (!changed) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      changed = false
    },
    close() {
      watcher.close()
      forget()
      signal.removeEventListener('abort', poke)
    },
  }
}
