import { type Finding, isBad } from './report.ts'

/** One death, as soon as it is over. */
export interface Done {
  workload: string
  way: string
  /** The worst first. */
  findings: readonly Finding[]
  /** It has died this way before, and what was found then does not count. */
  inRealTime: boolean
}

export interface Progress {
  tell(done: Done): void
  /** Before anything else is printed. */
  end(): void
}

const DEFAULT_COLUMNS = 80

/** On a terminal one line, that of the last death, gone in the end; elsewhere, as in CI's logs, a line for each. */
export function progressOn(stream: NodeJS.WriteStream): Progress {
  const clear = '\r\u001b[K'
  return {
    tell(done) {
      const line = lineOf(done)
      stream.write(stream.isTTY ? clear + line.slice(0, (stream.columns || DEFAULT_COLUMNS) - 1) : `${line}\n`)
    },
    end() {
      if (stream.isTTY) stream.write(clear)
    },
  }
}

function lineOf({ workload, way, findings: [worst], inRealTime }: Done): string {
  const verdict = worst ? `${isBad(worst) ? 'bad: ' : ''}${worst.says}` : 'dies well'
  return `${workload} ${way}${inRealTime ? ' in real time' : ''}: ${verdict}`
}
