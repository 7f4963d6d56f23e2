// Moves the wall clock of the process that it is loaded into, as far as the file says, at each SIGUSR2. What measures
// durations (performance.now, timers) goes on, as when an administrator sets the clock of a machine.
import { readFileSync } from 'node:fs'

const file = process.env.MOVED_CLOCK_FILE
const RealDate = Date
let offsetMs = 0
process.on('SIGUSR2', () => {
  offsetMs = Number(readFileSync(file, 'utf8'))
})

const now = () => RealDate.now() + offsetMs
globalThis.Date = class MovedDate extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(now())
    else super(...args)
  }
  static now() {
    return now()
  }
}
