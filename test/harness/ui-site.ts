import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { build } from 'esbuild'
import type { Test } from 'tap'
import { repository } from './cluster.ts'

const folder = join(repository, 'ui', 'page')
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:"
const index = `<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">
<link rel="stylesheet" href="main.css"><script type="module" src="main.js"></script><div id="page"></div>`

/** The page without a cluster: it serves any text as a record. */
export async function startSite(t: Test): Promise<{ url: string; show(record: string): void }> {
  const entryPoints = [join(folder, 'main.ts'), join(folder, 'main.css')]
  const options = { bundle: true, minify: true, format: 'esm', platform: 'browser', write: false } as const
  const { outputFiles } = await build({ ...options, entryPoints, outdir: folder })
  const textOf = (end: string): string => outputFiles.find(({ path }) => path.endsWith(end))?.text ?? ''
  let record = ''
  const server = createServer(({ url }, response) => {
    const [type, text] = url?.endsWith('.js')
      ? ['text/javascript', textOf('.js')]
      : url?.endsWith('.css')
        ? ['text/css', textOf('.css')]
        : url?.endsWith('/stream')
          ? ['application/x-ndjson', record]
          : ['text/html', index]
    const headers = { 'content-security-policy': policy, 'x-kubestage-source': 'file' }
    response.writeHead(200, { ...headers, 'content-type': `${type}; charset=utf-8` }).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const show = (text: string): void => {
    record = text
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, show }
}
