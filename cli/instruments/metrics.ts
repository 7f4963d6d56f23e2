import { formatSetUsage, LOAD_ANNOTATION, parseSetUsage, USAGE_ANNOTATION } from '../../shared/api/pods/set-usage.ts'
import { daemonSets, deployments, jobs, pods, replicaSets, statefulSets } from '../../shared/client/resources.ts'
import { option, UsageError } from '../../shared/config/option.ts'
import { flag, text } from '../../shared/config/option-types.ts'
import { clusterPlace } from '../access/cluster-access.ts'
import { withClient } from '../access/cluster-client.ts'
import { command } from '../command.ts'
import { unknownWord } from '../terminal/unknown-word.ts'

const words = ['set', 'clear']
const usage = '(set | clear) KIND/NAME'
const quantity = { ...text, placeholder: 'QUANTITY' }
/** Names of kinds as kubectl takes them. */
const kinds = {
  pod: pods,
  pods,
  po: pods,
  deployment: deployments,
  deploy: deployments,
  statefulset: statefulSets,
  sts: statefulSets,
  daemonset: daemonSets,
  ds: daemonSets,
  replicaset: replicaSets,
  rs: replicaSets,
  job: jobs,
} as const

export default command({
  purpose: 'Sets what pods use, for kubectl top and autoscalers.',
  usage,
  options: {
    ...clusterPlace,
    namespace: option(text, { default: 'default', short: 'n', help: 'Namespace of the pod or workload' }),
    cpu: option(quantity, { default: '', help: 'CPU, such as 500m or 2' }),
    memory: option(quantity, { default: '', help: 'Memory, such as 200Mi' }),
    each: option(flag, { default: false, help: 'Each pod of the workload uses as much' }),
  },
  first: ['cpu', 'memory', 'each', 'namespace'],
  notes: [
    'set deployment/web --cpu 2 says that the running pods of web use 2 cores together: each has an equal share, so that an autoscaler finds the size',
    'that its target asks for. With --each, and for pod/NAME, each pod uses as much. What is not set is measured. clear returns to what is measured.',
  ],
  complete: async ({ positionals: [word] }) => (word === undefined ? words : []),
  async run({ values, positionals: [word = '', target = '', ...rest] }) {
    if (word !== '' && !words.includes(word)) throw unknownWord('metrics', word, words)
    const [kind = '', name = '', ...more] = target.split('/')
    if (word === '' || name === '' || rest.length + more.length > 0)
      throw new UsageError(`usage: kubestage metrics ${usage}`)
    if (!Object.hasOwn(kinds, kind)) throw unknownWord('metrics', kind, Object.keys(kinds))
    const resource = kinds[kind as keyof typeof kinds]
    const isShared = resource !== pods && !values.each
    const asked = { ...(values.cpu && { cpu: values.cpu }), ...(values.memory && { memory: values.memory }) }
    const value = formatSetUsage(asked)
    if (word === 'set') check(asked, value)
    const annotations = {
      [USAGE_ANNOTATION]: word === 'set' && !isShared ? value : null,
      [LOAD_ANNOTATION]: word === 'set' && isShared ? value : null,
    }
    const ref = { namespace: values.namespace, name }
    await withClient(values, (client) => client.patch(resource, ref, { metadata: { annotations } }))
    const what = word === 'clear' ? 'uses what is measured' : `${isShared ? 'uses' : 'uses in each pod'} ${value}`
    process.stdout.write(`${kind}/${name} ${what}\n`)
    return 0
  },
})

function check(asked: { cpu?: string; memory?: string }, value: string): void {
  if (value === '') throw new UsageError('kubestage metrics set needs --cpu or --memory')
  const read = parseSetUsage(value)
  for (const name of ['cpu', 'memory'] as const) {
    if (asked[name] !== read[name])
      throw new UsageError(
        `--${name} must be a quantity such as ${name === 'cpu' ? '500m' : '200Mi'}, not ${JSON.stringify(asked[name])}`,
      )
  }
}
