import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { wholePage } from '../../apiserver/ui/pages.ts'

/** The page without a cluster: it serves any text as a record. */
export async function startSite(t: Test): Promise<{ url: string; show(record: string): void }> {
  const { html, policy } = await wholePage()
  let record = ''
  const server = createServer(({ url }, response) => {
    const [type, text] = url?.endsWith('/stream') ? ['application/x-ndjson', record] : ['text/html', html]
    const headers = { 'content-security-policy': `${policy}; connect-src 'self'`, 'x-kubestage-source': 'file' }
    response.writeHead(200, { ...headers, 'content-type': `${type}; charset=utf-8` }).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const show = (text: string): void => {
    record = text
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, show }
}
