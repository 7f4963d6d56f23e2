import { existsSync, statSync } from 'node:fs'
import { version } from '../../cluster/index.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { ConfigError, option, UsageError } from '../../shared/config/option.ts'
import { duration, flag, text } from '../../shared/config/option-types.ts'
import { RecordError } from '../../shared/record/reader.ts'
import { RecordWriter } from '../../shared/record/writer.ts'
import { accessTo, clusterPlace } from '../access/cluster-access.ts'
import { command } from '../command.ts'
import { untilStopped } from '../process/signals.ts'
import { copyRecord } from './copy.ts'

const usage = 'usage: kubestage record FILE'

export default command({
  purpose: 'Writes what happens in a cluster to a file, until Ctrl-C: objects, requests, and how pods end.',
  usage: 'FILE',
  options: {
    ...clusterPlace,
    for: option(duration, { default: 0, help: 'End after this time; 0s: at Ctrl-C' }),
    append: option(flag, { default: false, help: 'Append to an existing record' }),
    title: option(text, { default: '', help: "What the record is about; default: the server's address" }),
  },
  notes: ['It goes on when the API server starts again. docs/ui.md describes the format.'],
  async run({ values, positionals: [file, ...rest] }) {
    if (file === undefined || rest.length > 0) throw new UsageError(usage)
    const access = await accessTo(values)
    const stop = new AbortController()
    const end = (): void => stop.abort()
    untilStopped().then(end)
    let writer: RecordWriter | undefined
    // The file is made when the server has answered: a cluster that cannot be reached leaves none.
    const open = async (): Promise<RecordWriter> => {
      writer = await openFile(file, values.append)
      if (values.for > 0) realClock.setTimer(values.for, end)
      process.stderr.write(`Recording ${access.server} in ${file}; Ctrl-C ends it.\n`)
      return writer
    }
    const copying = { access, title: values.title || access.server, by: `kubestage ${version}`, open }
    checkFile(file, values.append)
    const { lines, gaps } = await copyRecord({ ...copying, clock: realClock, signal: stop.signal, say })
    writer?.close()
    const size = `${((writer?.bytes ?? 0) / 2 ** 20).toFixed(1)} MB`
    process.stdout.write(`${lines} lines, ${size}, ${gaps} gaps in ${file}\n`)
    return 0
  },
})

const say = (line: string): void => void process.stderr.write(`kubestage: ${line}\n`)

/** An empty file is no record, and nothing is lost with it. */
const isTaken = (file: string): boolean => existsSync(file) && statSync(file).size > 0

function checkFile(file: string, append: boolean): void {
  if (append && !isTaken(file)) throw new ConfigError(`${file} does not exist, or is empty; leave out --append`)
  if (!append && existsSync(file))
    throw new ConfigError(`${file} already exists; use --append to continue it, or name another file`)
}

async function openFile(file: string, append: boolean): Promise<RecordWriter> {
  try {
    return append ? await RecordWriter.append(file) : RecordWriter.create(file)
  } catch (error) {
    if (error instanceof RecordError) throw new ConfigError(error.message)
    throw error
  }
}
