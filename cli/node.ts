import { existsSync } from 'node:fs'
import { isStatus } from '../shared/api/status-error.ts'
import type { Node, Pod } from '../shared/api/types.ts'
import { loadKubeconfig } from '../shared/client/kubeconfig.ts'
import { nodes, pods } from '../shared/client/resources.ts'
import { createRestClient } from '../shared/client/rest-client.ts'
import { realClock } from '../shared/clock/real-clock.ts'
import { nearest } from '../shared/config/nearest.ts'
import { ConfigError } from '../shared/config/option.ts'
import { configOption } from '../shared/config/resolve.ts'
import { command } from './command.ts'
import { askKubelet } from './node/kubelet-request.ts'
import { nodeTable } from './node/list.ts'
import { stateDirectory, stateDirOption } from './state-directory.ts'

interface Deed {
  path: string
  done(node: string): string
}

const deeds: Record<string, Deed> = {
  shutdown: {
    path: '/debug/node/shutdown',
    done: (node) => `${node} is off; kubestage node return ${node} starts it again`,
  },
  lose: {
    path: '/debug/node/lose',
    done: (node) => `${node} is cut off; kubestage node return ${node} connects it again`,
  },
  return: {
    path: '/debug/node/return',
    done: (node) => `${node} is back`,
  },
}

export default command({
  purpose: 'Lists the nodes, or does to one what can happen to a machine.',
  usage: '(list | shutdown NAME | lose NAME | return NAME)',
  options: {
    config: configOption,
    stateDir: stateDirOption,
  },
  notes: [
    '  shutdown  pods are ended, critical ones last, each within shutdownGracePeriod; then the node is off',
    '  lose      nothing is heard of the node; its pods run on',
    '  return    after shutdown or lose: the node is there again',
  ],
  async run({ values, positionals: [word = 'list', name, ...words] }) {
    const { kubeconfig } = stateDirectory(values.stateDir)
    if (!existsSync(kubeconfig)) {
      const remedy = 'start one with kubestage up, or name its folder with --state-dir'
      throw new ConfigError(`no cluster in ${values.stateDir}: ${remedy}`)
    }
    const deed = Object.hasOwn(deeds, word) ? deeds[word] : undefined
    if (!deed && word !== 'list') throw unknownWord(word)
    const wanted = word === 'list' ? [] : ['NAME']
    const given = name === undefined ? [] : [name, ...words]
    if (given.length !== wanted.length) throw new ConfigError(`usage: ${['kubestage node', word, ...wanted].join(' ')}`)
    const access = await loadKubeconfig(kubeconfig)
    const client = createRestClient({ ...access, clock: realClock, userAgent: 'kubestage' })
    try {
      if (!deed || name === undefined) {
        const all = await Promise.all([client.list<Node>(nodes), client.list<Pod>(pods)])
        process.stdout.write(nodeTable(all[0].items, all[1].items))
        return 0
      }
      const node = await client.get<Node>(nodes, { name }).catch((error: unknown) => {
        throw isStatus(error, 'NotFound')
          ? new ConfigError(`there is no node ${name}; kubestage node list shows all`)
          : error
      })
      await askKubelet(node, access, { method: 'POST', path: deed.path })
      process.stdout.write(`${deed.done(name)}\n`)
      return 0
    } finally {
      await client.close()
    }
  },
})

function unknownWord(word: string): ConfigError {
  const near = nearest(word, [...Object.keys(deeds), 'list'])
  return new ConfigError(
    `node has no "${word}"${near ? `; did you mean ${near}?` : ''} (kubestage node --help lists all)`,
  )
}
