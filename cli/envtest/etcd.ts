import { realClock } from '../../shared/clock/real-clock.ts'
import { ConfigError } from '../../shared/config/option.ts'
import { mustBe } from '../../shared/config/option-types.ts'
import { createServer } from '../../shared/http/node-http.ts'
import { endWithParent } from './end-with-parent.ts'
import { etcdVersion } from './etcd-version.ts'
import { parseGoFlags, refuseUnknown } from './go-flags.ts'
import { upstreamEtcdFlags } from './upstream-flags.ts'

const defaultUrl = 'http://localhost:2379'
const answers: Record<string, string> = {
  '/health': '{"health":"true","reason":""}',
  '/readyz': 'ok\n',
  '/livez': 'ok\n',
  '/version': `{"etcdserver":"${etcdVersion}","etcdcluster":"3.6.0","storage":"3.6.0"}`,
}

/**
 * Runs the program that envtest starts as `etcd`. It answers health checks and stores nothing, because Kubestage's API
 * server keeps its objects itself. Resolves when it listens.
 */
export async function runEtcd(args: readonly string[]): Promise<void> {
  const flags = parseGoFlags(args)
  refuseUnknown(flags, [upstreamEtcdFlags])
  const [text = ''] = (flags.get('listen-client-urls') ?? defaultUrl).split(',')
  const url = URL.parse(text)
  if (!url) throw new ConfigError(`--listen-client-urls ${mustBe('a URL', text).message}`)
  const server = createServer((request, response) => {
    const answer = answers[request.url ?? '']
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' }).end(answer)
  })
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(0))
  endWithParent(realClock, () => process.exit(0))
  const [host, port] = [url.hostname, Number(url.port || 2379)]
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, resolve)
  })
}
