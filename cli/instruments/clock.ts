import { UsageError } from '../../shared/config/option.ts'
import { askServer } from '../access/ask-server.ts'
import { clusterPlace } from '../access/cluster-access.ts'
import { command } from '../command.ts'
import { outputOption, printData } from '../terminal/output.ts'

interface ClusterClock {
  now: string
  scale: number
  movedMs: number
}

const path = '/kubestage/v1/clock'
const usage = '[advance DURATION]'

export default command({
  purpose: "Prints the cluster's own time, or moves it forward.",
  usage,
  options: { ...clusterPlace, output: outputOption },
  notes: [
    'advance 10m lets ten minutes pass at once: whatever the server, the controllers and the kubelets wait for happens, in order. Programs in',
    'containers go on at their own pace; the file that KUBESTAGE_CLOCK_FILE names says how far time has been moved, and programs with a handler for',
    'SIGCONT get that signal. Ctrl-C leaves time where it has come to.',
  ],
  complete: async ({ positionals: [word] }) => (word === undefined ? ['advance'] : []),
  async run({ values, positionals: [word, duration, ...rest] }) {
    if (rest.length > 0 || (word !== undefined && (word !== 'advance' || duration === undefined))) {
      throw new UsageError(`usage: kubestage clock ${usage}`)
    }
    const clock =
      duration === undefined
        ? await askServer<ClusterClock>(values, { path })
        : await askServer<ClusterClock>(values, {
            method: 'POST',
            path,
            body: { advance: duration },
            doing: 'Moving time',
          })
    if (values.output !== 'text') await printData(values.output, clock)
    else process.stdout.write(`${[clock.now, ...remarks(clock)].join(', ')}\n`)
    return 0
  },
})

const remarks = ({ scale, movedMs }: ClusterClock): string[] => [
  ...(scale === 1 ? [] : [`${scale} times as fast as the machine's`]),
  ...(movedMs === 0 ? [] : [`moved by ${Math.round(movedMs / 1000)} s`]),
]
