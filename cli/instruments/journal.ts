import { createInterface } from 'node:readline'
import type { JournalEntry } from '../../apiserver/instruments/journal.ts'
import { type OptionType, option } from '../../shared/config/option.ts'
import { flag, suggestion, text, wholeNumber } from '../../shared/config/option-types.ts'
import { askServer, openAnswer } from '../access/ask-server.ts'
import { accessTo, clusterPlace } from '../access/cluster-access.ts'
import { command } from '../command.ts'
import { type Output, outputOption, printData, printTable } from '../terminal/output.ts'
import { ofServer, thisServerOption } from './this-server.ts'

const notSaid = -1
const keptRequests = {
  ...wholeNumber({ min: 0, max: 1_000_000, placeholder: 'COUNT' }),
  show: (count: number) => (count === notSaid ? undefined : String(count)),
}

const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection']
/** `get,list`; only what requests can be. */
const verbsOption: OptionType<string> = { ...text, placeholder: 'VERB,…', fromText: checkVerbs }

function checkVerbs(value: string): string {
  const unknown = value.split(',').find((verb) => !verbs.includes(verb))
  if (unknown === undefined) return value
  throw new Error(`has an unknown verb "${unknown}"; ${suggestion(unknown, verbs)}`)
}

const filterOption = (help: string) => option(text, { default: '', help })
const filters = {
  verb: option(verbsOption, { default: '', help: `Only these: ${verbs.join(', ')}` }),
  resource: filterOption('Only these: pods, pods/status, deployments.apps'),
  namespace: { ...filterOption('Only in this namespace'), short: 'n' },
  name: filterOption('Only for the object of this name'),
  user: filterOption('Only by this user'),
}

export default command({
  purpose:
    'Prints the requests that came to the API server: those that it kept, or with --follow those that come from now on.',
  options: {
    ...clusterPlace,
    thisServer: thisServerOption,
    follow: option(flag, { default: false, short: 'f', help: 'Print requests as they are answered, until Ctrl-C' }),
    keep: option(keptRequests, {
      default: notSaid,
      help: 'Keep so many requests from now on (0: none), and print nothing',
    }),
    ...filters,
    output: outputOption,
  },
  notes: ['kubestage up --journal=1000 keeps the last thousand from the start.'],
  async run({ values }) {
    const { follow, keep, output } = values
    const path = '/kubestage/v1/journal'
    if (keep !== notSaid) {
      await askServer(values, { method: 'PUT', path: ofServer(path, values), body: { kept: keep } })
      return 0
    }
    const query = new URLSearchParams()
    for (const name of Object.keys(filters) as (keyof typeof filters)[]) {
      for (const value of values[name].split(',').filter(Boolean)) query.append(name, value)
    }
    if (follow) {
      query.set('watch', 'true')
      await print(await openAnswer(await accessTo(values), { path: ofServer(`${path}?${query}`, values) }), output)
      return 0
    }
    const { kept, items } = await askServer<{ kept: number; items: JournalEntry[] }>(values, {
      path: ofServer(`${path}?${query}`, values),
    })
    if (output !== 'text') await printData(output, items)
    else printTable([['AT', 'USER', 'VERB', 'CODE', 'MS', 'PATH'], ...items.map(row)])
    if (kept === 0) process.stderr.write('kubestage: no request is kept; kubestage journal --keep=1000 begins it\n')
    return 0
  },
})

async function print(answer: NodeJS.ReadableStream, output: Output): Promise<void> {
  for await (const line of createInterface({ input: answer })) {
    const entry = JSON.parse(line) as JournalEntry
    if (output === 'json') process.stdout.write(`${line}\n`)
    else if (output === 'yaml') {
      process.stdout.write('---\n')
      await printData('yaml', entry)
    } else if (entry.code !== undefined || entry.verb === 'watch') process.stdout.write(`${row(entry).join('  ')}\n`)
  }
}

const row = ({ at, user, verb, code, durationMs, path, fault }: JournalEntry): string[] => [
  at.slice(11, 23),
  user,
  verb,
  String(code ?? '…'),
  String(durationMs === undefined ? '…' : Math.round(durationMs)),
  path + (fault ? ` (fault: ${fault})` : ''),
]
