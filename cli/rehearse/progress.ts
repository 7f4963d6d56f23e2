import { ToldOnce } from './formats/told-once.ts'
import { isBad, type Rehearsal, verdictOf } from './report.ts'

/** Reports a death as soon as it is over. */
export interface Done {
  workload: string
  rehearsal: Rehearsal
}

export interface Progress {
  tell(done: Done): void
  /** Ends the progress line. Call it before anything else is printed. */
  end(): void
}

const DEFAULT_COLUMNS = 80

/** Shows the last death on one line of a terminal, gone in the end; elsewhere, as in CI's logs, a line for each. */
export function progressOn(stream: NodeJS.WriteStream): Progress {
  const clear = '\r\u001b[K'
  const told = new Map<string, ToldOnce>()
  return {
    tell(done) {
      const ofWorkload = told.get(done.workload) ?? new ToldOnce()
      told.set(done.workload, ofWorkload)
      const line = lineOf(done, ofWorkload)
      stream.write(stream.isTTY ? clear + line.slice(0, (stream.columns || DEFAULT_COLUMNS) - 1) : `${line}\n`)
    },
    end() {
      if (stream.isTTY) stream.write(clear)
    },
  }
}

function lineOf({ workload, rehearsal }: Done, told: ToldOnce): string {
  const { way, findings, inRealTime } = rehearsal
  return `${workload} ${way}${inRealTime ? ' in real time' : ''}: ${findings.some(isBad) ? 'bad: ' : ''}${told.short(verdictOf(rehearsal), way)}`
}
