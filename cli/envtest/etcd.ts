import { parseGoFlags } from './go-flags.ts'

/** Not by import: that would load fetch and WebSocket, which takes longer than all the rest. */
const { createServer } = process.getBuiltinModule('node:http')
const defaultUrl = 'http://localhost:2379'
const answers: Record<string, string> = {
  '/health': '{"health":"true","reason":""}',
  '/readyz': 'ok\n',
  '/livez': 'ok\n',
  '/version': '{"etcdserver":"3.6.5","etcdcluster":"3.6.0","storage":"3.6.0"}',
}

/**
 * What envtest starts as `etcd`: it says that it is well, and keeps nothing, for our API server keeps its objects itself.
 * Resolves when it listens.
 */
export async function runEtcd(args: readonly string[]): Promise<void> {
  const url = new URL(parseGoFlags(args).get('listen-client-urls')?.split(',')[0] ?? defaultUrl)
  const server = createServer((request, response) => {
    const answer = answers[request.url ?? '']
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' }).end(answer)
  })
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(0))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(Number(url.port || 2379), url.hostname, resolve)
  })
}
