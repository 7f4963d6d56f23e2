import { knownSignals, signalNamed } from '../../kubelet/eviction/signals.ts'
import type { Node, Pod } from '../../shared/api/types.ts'
import { ConfigError, option, UsageError } from '../../shared/config/option.ts'
import { flag, suggestion, text } from '../../shared/config/option-types.ts'
import { askKubelet, askServer } from '../access/ask-server.ts'
import { accessTo, clusterPlace, type Place } from '../access/cluster-access.ts'
import { command } from '../command.ts'
import { outputOption, printData, printTable } from '../terminal/output.ts'
import { withProgress } from '../terminal/progress.ts'
import { unknownWord } from '../terminal/unknown-word.ts'
import { summaryOf, tableOf } from './list.ts'

interface Wishes {
  off: boolean
  available: string
}
interface Deed {
  /** The arguments besides the node's name. */
  words: readonly string[]
  /** Throws a UsageError for words that mean nothing. */
  request(words: readonly string[], wishes: Wishes): { method: string; path: string }
  done(node: string, words: readonly string[], wishes: Wishes): string
}

const simple = (word: string, done: Deed['done']): Deed => ({
  words: [],
  request: () => ({ method: 'POST', path: `/debug/node/${word}` }),
  done,
})

const deeds: Record<string, Deed> = {
  pressure: {
    words: ['SIGNAL'],
    request([signal = ''], { off, available }) {
      if (!signalNamed(signal))
        throw new UsageError(`unknown signal "${signal}"; ${suggestion(signal, knownSignals())}`)
      const query = available ? `?available=${encodeURIComponent(available)}` : ''
      return {
        method: off ? 'DELETE' : 'PUT',
        path: `/debug/pressure/${encodeURIComponent(signal)}${off ? '' : query}`,
      }
    },
    done: (node, [signal], { off }) =>
      off
        ? `${node} has enough ${signal} again; its condition and taint stay for evictionPressureTransitionPeriod (by default 5m)`
        : `${node} is low on ${signal}`,
  },
  shutdown: simple('shutdown', (node) => `${node} is off; kubestage node return ${node} starts it again`),
  lose: simple('lose', (node) => `${node} is cut off; kubestage node return ${node} connects it again`),
  return: simple('return', (node) => `${node} is back`),
  reboot: simple('reboot', (node) => `${node} has rebooted; its pods start again`),
}

export default command({
  purpose: 'Lists the nodes, or does to one what can happen to a machine.',
  usage:
    '(list | pressure NAME SIGNAL [--available AMOUNT] [--off] | shutdown NAME | lose NAME | return NAME | reboot NAME)',
  options: {
    ...clusterPlace,
    output: outputOption,
    available: option(text, {
      default: '',
      help: 'pressure: what is left, as 50Mi or 3%; by default half of what there should be',
    }),
    off: option(flag, { default: false, help: 'pressure: no more' }),
  },
  notes: [
    '  pressure  the kubelet finds too little memory, disk, inodes, or pids, and evicts pods, one after the other, until --off',
    '  shutdown  pods are ended, critical ones last, each within shutdownGracePeriod; then the node is off',
    '  lose      the node stops reporting; its pods run on',
    '  return    after shutdown or lose: the node starts, or reports again',
    '  reboot    power loss and restart: pods lose their processes without SIGTERM, and their sandboxes and addresses; the node gets a new bootID',
  ],
  async complete({ values, positionals: [word, name, ...rest] }) {
    if (word === undefined) return ['list', ...Object.keys(deeds)]
    if (!Object.hasOwn(deeds, word)) return []
    if (name !== undefined) return word === 'pressure' && rest.length === 0 ? knownSignals() : []
    return (await listOf<Node>(values, 'nodes')).map((node) => node.metadata.name ?? '')
  },
  async run({ values, positionals: [word = 'list', name, ...words] }) {
    const deed = Object.hasOwn(deeds, word) ? deeds[word] : undefined
    if (!deed && word !== 'list') throw unknownWord('node', word, ['list', ...Object.keys(deeds)])
    const wanted = word === 'list' ? [] : ['NAME', ...(deed?.words ?? [])]
    const given = name === undefined ? [] : [name, ...words]
    if (given.length !== wanted.length) throw new UsageError(`usage: ${['kubestage node', word, ...wanted].join(' ')}`)
    const request = deed?.request(words, values)
    const found = await listOf<Node>(values, 'nodes')
    if (!deed || !request || name === undefined) {
      const all = await listOf<Pod>(values, 'pods')
      const summaries = found.map((node) => summaryOf(node, all))
      if (values.output !== 'text') await printData(values.output, summaries)
      else printTable(tableOf(summaries))
      return 0
    }
    const node = found.find(({ metadata }) => metadata.name === name)
    if (!node) throw new ConfigError(`node "${name}" not found; kubestage node list shows all`)
    if (!node.status?.daemonEndpoints?.kubeletEndpoint?.Port)
      throw new ConfigError(`node ${name} is not run by Kubestage: its status has no kubelet port`)
    await withProgress(`${word} ${name}`, askKubelet(await accessTo(values), name, request))
    process.stdout.write(`${deed.done(name, words, values)}\n`)
    return 0
  },
})

const listOf = async <Kind>(place: Place, plural: string): Promise<Kind[]> =>
  (await askServer<{ items: Kind[] }>(place, { path: `/api/v1/${plural}` })).items
