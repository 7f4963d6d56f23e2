import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { examplePort } from '../../cli/demo/example-port.ts'
import { runDemo } from '../../cli/demo/run-demo.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { busyNetwork } from '../harness/busy-network.ts'
import { cli, repository } from '../harness/cluster.ts'
import { run } from '../harness/run.ts'
import { skipOrFail } from '../harness/skip.ts'

const example = readFileSync(join(repository, 'examples/graceful-delete/pod.yaml'), 'utf8')

t.test('the demo succeeds where other programs have its ports', async (t) => {
  const network = await busyNetwork(t, [8080, 6443, examplePort])
  if (!network) return skipOrFail(t, 'no network of its own on this machine')
  const [enter = '', ...rest] = network.enter
  const ended = await run(enter, [...rest, process.execPath, cli, 'demo'], { timeoutMs: 120_000 })
  t.match(ended, { code: 0, output: /worker +KUBE_POD_TERM_REASON=Update/ })
  t.match(ended?.output, /server +preStop: KUBE-POD-TERM-REASON: Update/)
})

const broken: readonly { title: string; from: string | RegExp; to: string; told: readonly RegExp[] }[] = [
  {
    title: 'whose program fails',
    from: "const http = require('node:http')",
    to: "throw new Error('broken on purpose')",
    told: [
      /^The demo failed: pod web becoming ready did not happen within 8 s$/m,
      /^container server: .*ended with exit code 1 \(Error\).*, [1-9]\d* restarts$/m,
      /^container worker: running, ready, 0 restarts$/m,
      /^condition Ready is False: containers with unready status: \[server\]$/m,
      /^event Warning BackOff \(\d+ times\): Back-off restarting failed container server /m,
      /^log of server: .*broken on purpose/m,
      /^log of worker: working$/m,
    ],
  },
  {
    title: 'that never gets ready',
    from: /path: \/, port: http/,
    to: 'path: /, port: 1',
    told: [
      /^container server: running, not ready, 0 restarts$/m,
      /^event Warning Unhealthy .*: Readiness probe failed/m,
    ],
  },
  {
    title: 'that never ends',
    from: 'sleep 1\n',
    to: 'sleep 15\n',
    told: [/^The demo failed: the end of pod web did not happen within 8 s$/m],
  },
]

for (const { title, from, to, told } of broken) {
  t.test(`a demo ${title} ends within its time and says why`, async (t) => {
    const lines: string[] = []
    const tell = (line: string): void => void lines.push(line)
    const narrator = {
      chapter: tell,
      typed: tell,
      aside: tell,
      seen: (source: string, text: string) => tell(`${source} ${text}`),
    }
    const manifest = example.replace(from, to)
    t.not(manifest, example)
    const beganMs = realClock.monotonic()
    t.equal(await runDemo({ manifest, timeoutMs: 8_000, narrator }), false)
    const tookMs = realClock.monotonic() - beganMs
    // Its start has an end of its own, and so has what is left of the pod when the cluster stops.
    t.ok(tookMs < 60_000, `took ${tookMs} ms`)
    for (const line of told) t.match(lines.join('\n'), line)
  })
}
