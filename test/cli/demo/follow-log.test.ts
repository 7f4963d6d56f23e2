import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { followLog } from '../../../cli/demo/follow-log.ts'
import { ensureClusterPki } from '../../../shared/pki/cluster-pki.ts'

t.test(
  'a log whose server ends in the middle is a failure of the one who follows it, not of the process',
  async (t) => {
    const pki = ensureClusterPki({
      directory: t.testdir(),
      nowMs: Date.now(),
      host: '127.0.0.1',
      serviceAddress: '10.96.0.1',
      nodeName: 'node-1',
    })
    const server = createServer({ cert: pki.apiServer.cert, key: pki.apiServer.key }, (_request, response) => {
      response.write('working\n')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    const { port } = server.address() as AddressInfo
    const lines: string[] = []
    const following = followLog({
      server: `https://127.0.0.1:${port}`,
      ca: pki.ca.cert,
      user: pki.admin,
      namespace: 'default',
      pod: 'web',
      container: 'worker',
      onLine: (line) => {
        lines.push(line)
        server.closeAllConnections()
      },
    })
    await t.rejects(following, { code: 'ECONNRESET' })
    t.same(lines, ['working'])
  },
)
