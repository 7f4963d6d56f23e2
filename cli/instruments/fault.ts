import type { Fault } from '../../apiserver/instruments/faults.ts'
import { UsageError } from '../../shared/config/option.ts'
import { askServer } from '../access/ask-server.ts'
import { clusterPlace } from '../access/cluster-access.ts'
import { command } from '../command.ts'
import { outputOption, printData, printTable } from '../terminal/output.ts'
import { unknownWord } from '../terminal/unknown-word.ts'
import { ofServer, thisServerOption } from './this-server.ts'

const path = '/kubestage/v1/faults'
const words = ['list', 'add', 'remove', 'clear']
const usage = "(list | add 'verb: create, resource: pods, then: {status: 503}' | remove ID | clear)"

export default command({
  purpose: 'Makes requests fail on purpose.',
  usage,
  options: { ...clusterPlace, thisServer: thisServerOption, output: outputOption },
  notes: [
    'A rule is YAML: verb, resource (pods, pods/status, deployments.apps), namespace, name, user say which requests are meant, each also as a list;',
    'probability, seed and times say how often (with one seed, the n-th request for the same thing fares alike in every run); then is one of',
    '  {status: 503}       answered with this code; or {status: {code: 429, reason, message, retryAfterSeconds}}',
    '  {delay: 250ms}      served that much later',
    '  {reset: true}       the connection is cut',
    '  {dropWatch: 1s}     a watch is served, and cut after that time',
    '  {stale: 3}          a get or a list shows things as they were three writes ago',
  ],
  async complete({ values, positionals: [word, ...rest] }) {
    if (word === undefined) return words
    if (word !== 'remove' || rest.length > 0) return []
    const { items } = await askServer<{ items: Fault[] }>(values, { path: ofServer(path, values) })
    return items.map(({ id }) => String(id))
  },
  async run({ values, positionals: [word = 'list', argument, ...rest] }) {
    const wanted = word === 'add' || word === 'remove'
    if (!words.includes(word)) throw unknownWord('fault', word, words)
    if (rest.length > 0 || wanted !== (argument !== undefined)) throw new UsageError(`usage: kubestage fault ${usage}`)
    const { output } = values
    if (word === 'remove' && !/^\d+$/.test(argument ?? ''))
      throw new UsageError(`no fault with ID "${argument}"; kubestage fault list shows them`)
    if (word === 'add') {
      const fault = await askServer<Fault>(values, {
        method: 'POST',
        path: ofServer(path, values),
        body: await readRule(argument ?? ''),
      })
      if (output !== 'text') await printData(output, fault)
      else process.stdout.write(`fault ${fault.id} is on\n`)
      return 0
    }
    const method = word === 'list' ? 'GET' : 'DELETE'
    const which = word === 'remove' ? `/${encodeURIComponent(argument ?? '')}` : ''
    const { items } = await askServer<{ items: Fault[] }>(values, {
      method,
      path: ofServer(path + which, values),
    })
    if (output !== 'text') await printData(output, items)
    else printTable([['ID', 'HITS', 'RULE'], ...items.map(row)])
    return 0
  },
})

/** Reads a rule, also a map on one line without its braces. */
async function readRule(text: string): Promise<unknown> {
  const { load } = await import('js-yaml')
  try {
    return load(/^\s*\{/.test(text) || text.includes('\n') ? text : `{${text}}`)
  } catch (error) {
    throw new UsageError(`the rule is not valid YAML: ${(error as { reason?: string }).reason ?? ''}`)
  }
}

const row = ({ id, hits, ...rule }: Fault): string[] => [String(id), String(hits), JSON.stringify(rule)]
