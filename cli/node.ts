import { knownSignals } from '../kubelet/eviction/signals.ts'
import { isStatus } from '../shared/api/status-error.ts'
import type { Node, Pod } from '../shared/api/types.ts'
import { nodes, pods } from '../shared/client/resources.ts'
import { createRestClient } from '../shared/client/rest-client.ts'
import { realClock } from '../shared/clock/real-clock.ts'
import { ConfigError, option, UsageError } from '../shared/config/option.ts'
import { flag, text } from '../shared/config/option-types.ts'
import { configOption } from '../shared/config/resolve.ts'
import { adminAccess } from './admin-access.ts'
import { askServer } from './ask-server.ts'
import { command } from './command.ts'
import { askKubelet } from './node/kubelet-request.ts'
import { summaryOf, tableOf } from './node/list.ts'
import { outputOption, printData, printTable } from './output.ts'
import { withProgress } from './progress.ts'
import { requireRunning } from './running.ts'
import { stateDirOption } from './state-directory.ts'
import { unknownWord } from './unknown-word.ts'

interface Wishes {
  off: boolean
  available: string
}
interface Deed {
  /** What it needs to be told besides the node's name. */
  words: readonly string[]
  request(words: readonly string[], wishes: Wishes): { method: string; path: string }
  done(node: string, words: readonly string[], wishes: Wishes): string
}

const deeds: Record<string, Deed> = {
  pressure: {
    words: ['SIGNAL'],
    request([signal = ''], { off, available }) {
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
  shutdown: {
    words: [],
    request: () => ({ method: 'POST', path: '/debug/node/shutdown' }),
    done: (node) => `${node} is off; kubestage node return ${node} starts it again`,
  },
  lose: {
    words: [],
    request: () => ({ method: 'POST', path: '/debug/node/lose' }),
    done: (node) => `${node} is cut off; kubestage node return ${node} connects it again`,
  },
  return: {
    words: [],
    request: () => ({ method: 'POST', path: '/debug/node/return' }),
    done: (node) => `${node} is back`,
  },
}

export default command({
  purpose: 'Lists the nodes, or does to one what can happen to a machine.',
  usage: '(list | pressure NAME SIGNAL [--available AMOUNT] [--off] | shutdown NAME | lose NAME | return NAME)',
  options: {
    config: configOption,
    stateDir: stateDirOption,
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
    '  lose      nothing is heard of the node; its pods run on',
    '  return    after shutdown or lose: the node is there again',
  ],
  async complete({ values: { stateDir }, positionals: [word, name, ...rest] }) {
    if (word === undefined) return ['list', ...Object.keys(deeds)]
    if (!Object.hasOwn(deeds, word)) return []
    if (name !== undefined) return word === 'pressure' && rest.length === 0 ? knownSignals() : []
    const { items } = await askServer<{ items: Node[] }>(stateDir, { path: '/api/v1/nodes' })
    return items.map((node) => node.metadata.name ?? '')
  },
  async run({ values, positionals: [word = 'list', name, ...words] }) {
    const deed = Object.hasOwn(deeds, word) ? deeds[word] : undefined
    if (!deed && word !== 'list') throw unknownWord('node', word, ['list', ...Object.keys(deeds)])
    const wanted = word === 'list' ? [] : ['NAME', ...(deed?.words ?? [])]
    const given = name === undefined ? [] : [name, ...words]
    if (given.length !== wanted.length) throw new UsageError(`usage: ${['kubestage node', word, ...wanted].join(' ')}`)
    const access = adminAccess(requireRunning(values.stateDir))
    const client = createRestClient({ ...access, clock: realClock, userAgent: 'kubestage' })
    try {
      if (!deed || name === undefined) {
        const [found, all] = await Promise.all([client.list<Node>(nodes), client.list<Pod>(pods)])
        const summaries = found.items.map((node) => summaryOf(node, all.items))
        if (values.output !== 'text') await printData(values.output, summaries)
        else printTable(tableOf(summaries))
        return 0
      }
      const node = await client.get<Node>(nodes, { name }).catch((error: unknown) => {
        throw isStatus(error, 'NotFound')
          ? new ConfigError(`there is no node ${name}; kubestage node list shows all`)
          : error
      })
      await withProgress(word, askKubelet(node, access, deed.request(words, values)))
      process.stdout.write(`${deed.done(name, words, values)}\n`)
      return 0
    } finally {
      await client.close()
    }
  },
})
