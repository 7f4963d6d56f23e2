// The helper program in the images of the recorded kubelet scenarios (test/golden/kubelet/tool.go says the same in Go):
//   pause · serve PORT [SECONDS] · usr1 · mem MIB
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const [command = 'pause', first = '', second = ''] = process.argv.slice(2)
const say = (...words) => process.stdout.write(`${words.join(' ')}\n`)

const commands = {
  pause() {
    for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit(0))
    setInterval(() => {}, 1 << 30)
  },
  serve() {
    process.on('SIGTERM', async () => {
      say('TERM')
      await sleep(Number(second) * 1000)
      say('exit')
      process.exit(0)
    })
    say('start')
    // Not on all addresses: pods of several tests share this machine's.
    createServer(answer).listen(Number(first), process.env.KUBESTAGE_POD_IP)
  },
  usr1() {
    process.on('SIGTERM', () => say('signal', 'terminated'))
    process.on('SIGUSR1', () => {
      say('signal', 'user defined signal 1')
      process.exit(7)
    })
    say('start')
    setInterval(() => {}, 1 << 30)
  },
  async mem() {
    say('start')
    const kept = []
    for (let index = 0; index < Number(first); index++) {
      kept.push(Buffer.alloc(1 << 20, 1))
      await sleep(5)
    }
    say('allocated', kept.length)
    await sleep(3_600_000)
  },
}

/** /status/N, /delay/SECONDS, /redirect/…, /file (200 while /tmp/ok exists), anything else 200. */
async function answer(request, response) {
  const { host } = request.headers
  say(
    `request ${request.method} ${request.url} host=${host} proto=HTTP/${request.httpVersion} [${headersOf(request).join('; ')}]`,
  )
  const [, kind, value] = new URL(request.url, 'http://x').pathname.split('/')
  if (kind === 'status' && value) return response.writeHead(Number(value)).end(`status ${value}\n`)
  if (kind === 'redirect' && value) {
    response.writeHead(302, { location: 'http://10.0.0.1:1/', 'content-type': 'text/html; charset=utf-8' })
    return response.end('<a href="http://10.0.0.1:1/">Found</a>.\n\n')
  }
  if (kind === 'file' && !existsSync('/tmp/ok')) return response.writeHead(503).end()
  if (kind === 'delay' && value) {
    await sleep(Number(value) * 1000)
    say('answered', request.url)
  }
  response.end()
}

/** As Go prints them: by name, the values of one name together. */
function headersOf({ rawHeaders }) {
  const values = new Map()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index].toLowerCase().replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase())
    if (name !== 'Host') values.set(name, [...(values.get(name) ?? []), rawHeaders[index + 1]])
  }
  return [...values].map(([name, all]) => `${name}: ${all.join(',')}`).sort()
}

await commands[command]()
