import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type PullOptions, pullImage } from '../../../../kubelet/images/registry/pull-image.ts'
import type { RegistrySettings } from '../../../../kubelet/images/registry/settings.ts'
import { readName } from '../../../../kubelet/images/store/image-names.ts'
import { ImageStore } from '../../../../kubelet/images/store/image-store.ts'
import type { Credentials } from '../../../../kubelet/runtime/container-runtime.ts'
import { file, type ImageParts, tarOf } from '../../../harness/image-archives.ts'
import { startRegistry, type TestRegistry } from '../../../harness/registry.ts'
import { scratchFolder } from '../../../harness/scratch.ts'

const settings: RegistrySettings = { mirrors: {}, insecure: [], proxies: { http: '', https: '', none: '' } }
const machine = { os: 'linux', architecture: process.arch === 'x64' ? 'amd64' : process.arch }
/** So that a test of a registry that hangs takes a second. */
const short = { connectMs: 300, answerMs: 300, documentMs: 10_000 }

const imageOf = async (...contents: string[]): Promise<ImageParts> => ({
  layers: await Promise.all(contents.map((text, index) => tarOf([file(`file-${index}`, text)]))),
  config: { Cmd: ['/file-0'] },
})

interface Place {
  root: string
  store: ImageStore
  registry: TestRegistry
  pull(name: string, options?: Partial<PullOptions>): ReturnType<typeof pullImage>
  /** What is in a part of the store. */
  stored(part: string): string[]
}

async function placeOf(t: Test): Promise<Place> {
  const root = join(scratchFolder(t, 'pull'), 'store')
  const store = new ImageStore(root)
  const registry = await startRegistry(t)
  return {
    root,
    store,
    registry,
    pull: (name, options = {}) =>
      pullImage(store, readName(name.includes('/') ? name : `${registry.host}/${name}`), { settings, ...options }),
    stored: (part) => (existsSync(join(root, part)) ? readdirSync(join(root, part)) : []),
  }
}

/** Sums up the sizes of a document and of all that it names. */
function bytesBelow(registry: Place['registry'], digest: string): number {
  const bytes = registry.blob(digest) ?? Buffer.alloc(0)
  if (bytes[0] !== '{'.charCodeAt(0)) return bytes.length
  const { manifests = [], config, layers = [] } = JSON.parse(bytes.toString('utf8'))
  const named = [...manifests, ...(config?.digest ? [config] : []), ...layers] as { digest: string }[]
  return named.reduce((sum, one) => sum + bytesBelow(registry, one.digest), bytes.length)
}

t.test('an image is pulled by its tag, once', async (t) => {
  const { store, registry, pull, stored } = await placeOf(t)
  const { manifest, layers } = registry.add('shop/web', '2', await imageOf('below', 'above'), { platform: machine })
  const seen: number[] = []
  const record = await pull('shop/web:2'.replace('shop', `${registry.host}/shop`), {
    onProgress: (bytes, of) => seen.push(bytes / of),
  })
  t.equal(record.name, `${registry.host}/shop/web:2`)
  t.equal(record.digest, manifest, 'the digest of the index')
  t.equal(record.pulledBytes, bytesBelow(registry, manifest), 'as containerd counts, with index and manifest')
  t.ok(seen.length > 0 && seen.every((part) => part > 0 && part <= 1))
  t.equal(readFileSync(join(store.images.root(record), 'file-1'), 'utf8'), 'above')
  t.same(stored('loading'), [])

  registry.requests.length = 0
  t.same(await pull(`${registry.host}/shop/web:2`), record)
  t.same(registry.requests, ['HEAD /v2/shop/web/manifests/2'], 'the registry is asked if it has a newer one')

  registry.add('shop/web', '2', await imageOf('below', 'newer'), { platform: machine })
  const newer = await pull(`${registry.host}/shop/web:2`)
  t.equal(readFileSync(join(store.images.root(newer), 'file-1'), 'utf8'), 'newer')
  t.equal(registry.requests.filter((one) => one.endsWith(layers[0]!)).length, 0, 'a layer that is there is not pulled')

  const byDigest = await pull(`${registry.host}/shop/web@${manifest}`)
  t.equal(readFileSync(join(store.images.root(byDigest), 'file-1'), 'utf8'), 'above')
})

t.test('layers come three at a time', async (t) => {
  const { registry, pull } = await placeOf(t)
  const { layers } = registry.add('many', '1', await imageOf(...'abcdefgh'.split('').map((text) => text.repeat(100))))
  let [now, most, answered] = [0, 0, 0]
  const waiting: (() => void)[] = []
  registry.intercept = ({ method, url = '' }, response) => {
    const digest = url.split('/').at(-1) ?? ''
    if (method !== 'GET' || !layers.includes(digest)) return undefined
    now += 1
    most = Math.max(most, now)
    response.on('close', () => {
      now -= 1
    })
    waiting.push(() => response.end(registry.blob(digest)))
    // Layers wait for each other, as long as there are three.
    if (waiting.length < 3 && answered + waiting.length < layers.length) return true
    answered += waiting.length
    for (const answer of waiting.splice(0)) answer()
    return true
  }
  await pull('many:1')
  t.equal(most, 3)
})

t.test('a registry asks who pulls', async (t) => {
  const { registry, pull, stored } = await placeOf(t)
  registry.add('private', '1', await imageOf('secret'))
  const right = { username: 'anna', password: 'sesame' }
  const basic = ({ username, password }: Credentials) =>
    `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`

  await t.test('for a password', async (t) => {
    registry.intercept = ({ headers }, response) => {
      if (headers.authorization === basic(right)) return undefined
      response.writeHead(401, { 'www-authenticate': 'Basic realm="Registry"' }).end()
      return true
    }
    const head = `http://${registry.host}/v2/private/manifests/1`
    const frame = `failed to pull and unpack image "${registry.host}/private:1": failed to resolve image: `
    const denied = 'pull access denied, repository does not exist or may require authorization'
    await t.rejects(pull('private:1'), {
      message: `${frame}${denied}: authorization failed: no basic auth credentials`,
    })
    const wrong = { ...right, password: 'wrong' }
    await t.rejects(pull('private:1', { credentials: [wrong] }), {
      message: `${frame}unexpected status from HEAD request to ${head}: 401 Unauthorized`,
    })
    t.same(stored('names'), [])
    await t.resolves(pull('private:1', { credentials: [wrong, right] }), 'the next password is tried')
  })

  await t.test('for a token', async (t) => {
    const asked: string[] = []
    const tokens = createServer((request, response) => {
      asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? 'nobody'}`)
      if (request.headers.authorization === basic({ ...right, password: 'wrong' })) response.writeHead(401)
      response.end(JSON.stringify({ token: request.headers.authorization === basic(right) ? 'good' : 'poor' }))
    })
    await new Promise<void>((resolve) => tokens.listen(0, '127.0.0.1', resolve))
    t.teardown(() => tokens.close())
    const realm = `http://127.0.0.1:${(tokens.address() as AddressInfo).port}/token`
    registry.intercept = ({ headers }, response) => {
      if (headers.authorization === 'Bearer good') return undefined
      const refused = headers.authorization ? ',error="insufficient_scope"' : ''
      const challenge = `Bearer realm="${realm}",service="reg,one",scope="repository:private:pull"${refused}`
      response.writeHead(401, { 'www-authenticate': challenge }).end()
      return true
    }
    registry.add('private', '2', await imageOf('also secret'))
    await t.resolves(pull('private:2', { credentials: [right] }))
    t.equal(asked[0], `GET /token?scope=repository%3Aprivate%3Apull&service=reg%2Cone ${basic(right)}`)
    await t.rejects(
      pull('private:2'),
      /pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed$/,
    )
    t.match(asked.at(-1), /nobody$/)
    await t.rejects(pull('private:2', { credentials: [{ ...right, password: 'wrong' }] }), {
      message: new RegExp(
        `failed to resolve image: failed to authorize: failed to fetch oauth token: unexpected status from GET request to ${realm}\\?scope=repository%3Aprivate%3Apull&service=reg%2Cone: 401 Unauthorized$`,
      ),
    })
    await t.resolves(
      pull('private:2', { credentials: [{ username: '', password: '', identityToken: 'x' }] }).catch(() => {}),
    )
    t.match(asked.at(-1), /^POST \/token nobody$/, 'a token of docker login is exchanged')
  })
})

t.test('what a registry lacks', async (t) => {
  const { registry, pull } = await placeOf(t)
  const name = `${registry.host}/shop/nope:1`
  await t.rejects(pull(name), {
    code: 'NotFound',
    message: `failed to pull and unpack image "${name}": failed to resolve image: ${name}: not found`,
  })
  const { layers } = registry.add('web', '1', await imageOf('a', 'b'))
  registry.intercept = ({ url = '' }, response) => {
    if (!url.endsWith(layers[1]!)) return undefined
    response.writeHead(404).end()
    return true
  }
  await t.rejects(pull('web:1'), { message: new RegExp(`/v2/web/blobs/${layers[1]}: not found$`) })
})

t.test('nobody answers', async (t) => {
  const { pull } = await placeOf(t)
  const closed = createTcpServer()
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve))
  const { port } = closed.address() as AddressInfo
  await new Promise((resolve) => closed.close(resolve))
  await t.rejects(pull(`127.0.0.1:${port}/web:1`), {
    code: 'Unknown',
    message:
      `failed to pull and unpack image "127.0.0.1:${port}/web:1": failed to resolve image: failed to do request: ` +
      `Head "https://127.0.0.1:${port}/v2/web/manifests/1": dial tcp 127.0.0.1:${port}: connect: connection refused`,
  })
  await t.rejects(pull('registry.invalid/web:1'), /dial tcp: lookup registry.invalid: no such host$/)
})

t.test('registries that hang', async (t) => {
  const { registry, pull, stored } = await placeOf(t)
  const { config, layers } = registry.add('web', '1', await imageOf(randomBytes(90_000).toString('hex')))
  const stall = (part: string, answer: (response: ServerResponse) => void) => {
    registry.intercept = ({ url = '', method }, response) => {
      if (!`${method} ${url}`.endsWith(part)) return undefined
      answer(response)
      return true
    }
  }
  stall('HEAD /v2/web/manifests/1', () => {})
  await t.rejects(pull('web:1', { timeouts: short }), /failed to do request: Head "http.*": no answer within 0.3 s$/)
  stall(`GET /v2/web/blobs/${config}`, (response) => response.write('{'))
  await t.rejects(pull('web:1', { timeouts: short }), /Get "http.*": nothing more of the answer came for 0.3 s$/)
  stall(`GET /v2/web/blobs/${config}`, (response) => {
    const drip = setInterval(() => response.write(' '), 50)
    response.on('close', () => clearInterval(drip))
  })
  await t.rejects(
    pull('web:1', { timeouts: { ...short, documentMs: 700 } }),
    /Get "http.*": its answer was not complete after 0.7 s$/,
  )
  const waits: number[] = []
  const clock = { sleep: async (ms: number) => void waits.push(ms), setTimer: () => ({ cancel() {} }), now: () => 0 }
  stall(`GET /v2/web/blobs/${layers[0]}`, (response) => response.write(''))
  await t.rejects(
    pull('web:1', { timeouts: short, clock: clock as never }),
    /failed to copy: Get "http.*": nothing more of the answer came for 0.3 s \(after 0 of \d+ bytes\)$/,
  )
  t.same(waits, [500, 1000, 2000])
  t.same(stored('loading'), [])
  t.same(stored('names'), [])
})

t.test('redirects', async (t) => {
  const { registry, pull } = await placeOf(t)
  const { layers } = registry.add('web', '1', await imageOf('moved'))
  const files = createServer((request, response) => {
    seen.push(request.headers.authorization ?? 'nobody')
    response.end(registry.blob(layers[0]!))
  })
  const seen: string[] = []
  await new Promise<void>((resolve) => files.listen(0, '127.0.0.1', resolve))
  t.teardown(() => files.close())
  const place = `http://127.0.0.1:${(files.address() as AddressInfo).port}/file?signature=x`
  registry.intercept = ({ url = '', headers }, response) => {
    if (!headers.authorization) response.writeHead(401, { 'www-authenticate': 'Basic realm="r"' }).end()
    else if (url.endsWith(layers[0]!)) response.writeHead(307, { location: place }).end()
    else return undefined
    return true
  }
  await t.resolves(pull('web:1', { credentials: [{ username: 'a', password: 'b' }] }))
  t.same(seen, ['nobody'], 'a password goes to the registry alone')

  registry.add('round', '1', await imageOf('never'))
  registry.intercept = ({ url = '' }, response) => {
    response.writeHead(302, { location: `${url}` }).end()
    return true
  }
  await t.rejects(pull('round:1'), /Head "http.*\/v2\/round\/manifests\/1": stopped after 10 redirects$/)
  registry.intercept = (_request, response) => {
    response.writeHead(302, { location: 'file:///etc/passwd' }).end()
    return true
  }
  await t.rejects(pull('round:1'), /the registry redirects to "file:\/\/\/etc\/passwd"$/)
})

t.test('a busy registry is given time', async (t) => {
  const { registry, pull } = await placeOf(t)
  registry.add('web', '1', await imageOf('busy'))
  const waits: number[] = []
  const clock = {
    sleep: async (ms: number) => void waits.push(ms),
    setTimer: () => ({ cancel() {} }),
    now: () => Date.parse('2026-01-01T00:00:00Z'),
  } as never
  const answers: [number, Record<string, string>][] = [
    [429, { 'retry-after': '7' }],
    [429, { 'retry-after': 'Thu, 01 Jan 2026 00:00:03 GMT' }],
    [503, {}],
  ]
  registry.intercept = (_request, response) => {
    const [status, headers] = answers.shift() ?? []
    if (!status) return undefined
    response.writeHead(status, headers).end()
    return true
  }
  await t.resolves(pull('web:1', { clock }))
  t.same(waits, [7000, 3000, 2000])

  registry.intercept = (_request, response) => !!response.writeHead(429, { 'retry-after': '3600' }).end()
  await t.rejects(pull('web:1', { clock }), /: 429 Too Many Requests \(the registry asks to wait 3600 s\)$/)
  registry.intercept = (_request, response) => !!response.writeHead(500).end()
  registry.requests.length = 0
  await t.rejects(pull('web:1', { clock }), /: 500 Internal Server Error$/)
  t.equal(registry.requests.length, 4)
})

t.test('a connection that breaks is followed by another', async (t) => {
  const { store, registry, pull } = await placeOf(t)
  const content = randomBytes(200_000).toString('hex')
  const { layers } = registry.add('web', '1', await imageOf(content))
  const bytes = registry.blob(layers[0]!)!
  const ranges: (string | undefined)[] = []
  registry.intercept = ({ url = '', headers }, response) => {
    if (!url.endsWith(layers[0]!)) return undefined
    ranges.push(headers.range)
    if (ranges.length > 2) return undefined
    const from = Number(/\d+/.exec(headers.range ?? '0')?.[0])
    response.writeHead(from ? 206 : 200, {
      'content-length': bytes.length - from,
      ...(from && { 'content-range': `bytes ${from}-` }),
    })
    response.write(bytes.subarray(from, from + 50_000), () => response.destroy())
    return true
  }
  const clock = { sleep: async () => {}, setTimer: () => ({ cancel() {} }), now: () => 0 } as never
  const record = await pull('web:1', { clock })
  t.equal(readFileSync(join(store.images.root(record), 'file-0'), 'utf8'), content)
  t.equal(ranges.length, 3)
  t.match(ranges[1], /^bytes=\d+-$/)

  // One that knows no ranges sends all of it again.
  const { layers: others } = registry.add('web', '2', await imageOf(content, content))
  let tries = 0
  registry.intercept = ({ url = '' }, response) => {
    if (!url.endsWith(others[1]!)) return undefined
    const all = registry.blob(others[1]!)!
    tries += 1
    response.writeHead(200, { 'content-length': all.length })
    if (tries === 1) response.write(all.subarray(0, 50_000), () => response.destroy())
    else response.end(all)
    return true
  }
  const second = await pull('web:2', { clock })
  t.equal(readFileSync(join(store.images.root(second), 'file-1'), 'utf8'), content)
  t.equal(tries, 2)
})

t.test('registries that lie', async (t) => {
  const { registry, pull, stored } = await placeOf(t)
  const { manifest, config, layers } = registry.add('web', '1', await imageOf('honest'))
  const instead = (part: string, bytes: Buffer, headers: Record<string, string | number> = {}) => {
    registry.intercept = ({ url = '', method }, response) => {
      if (method !== 'GET' || !url.endsWith(part)) return undefined
      response.writeHead(200, headers).end(bytes)
      return true
    }
  }
  const layer = registry.blob(layers[0]!)!
  instead(manifest, Buffer.from('{}'))
  await t.rejects(pull('web:1'), /the manifest is damaged: its digest is sha256:[0-9a-f]+, not sha256:/)
  instead(config, Buffer.alloc(registry.blob(config)!.length, ' '))
  await t.rejects(pull('web:1'), /the configuration sha256:\S+ is damaged: its digest is /)
  instead(config, Buffer.from('{}'))
  await t.rejects(pull('web:1'), /the configuration sha256:\S+ has 2 bytes; its manifest says \d+$/)
  const changed = Buffer.from(layer)
  changed[5]! ^= 1 // the time in the header of gzip: the content is the same
  instead(layers[0]!, changed)
  await t.rejects(pull('web:1'), /the layer sha256:\S+ is damaged: its digest is /)
  instead(layers[0]!, Buffer.concat([layer, layer]), { 'transfer-encoding': 'chunked' })
  await t.rejects(pull('web:1'), /the layer sha256:\S+ has more than \d+ bytes; its manifest says \d+$/)
  instead(layers[0]!, layer, { 'content-length': layer.length + 1 })
  await t.rejects(pull('web:1'), /the layer sha256:\S+ has \d+ bytes; its manifest says \d+$/)
  registry.intercept = ({ url = '' }, response) =>
    url.endsWith('/manifests/1') && !!response.writeHead(200, { 'docker-content-digest': 'md5:00' }).end()
  await t.rejects(pull('web:1'), /the registry’s answer has the digest "md5:00"; only sha256 digests are known$/)
  registry.intercept = undefined
  registry.add('other', '1', await imageOf('x'), { platform: { os: 'linux', architecture: 's390x' } })
  await t.rejects(pull('other:1'), /no match for platform linux\/\w+: the image is for plan9\/mips, linux\/s390x$/)
  t.same(stored('loading'), [])
  t.same(stored('names'), [])
})

t.test('mirrors, and registries without TLS', async (t) => {
  const { registry, pull } = await placeOf(t)
  registry.add('library/web', '1', await imageOf('mirrored'))
  const mirrors = { 'docker.io': `http://${registry.host}/`, 'registry.invalid': `http://${registry.host}` }
  const record = await pull('docker.io/library/web:1', { settings: { ...settings, mirrors } })
  t.equal(record.name, 'docker.io/library/web:1')
  await t.rejects(
    pull('registry.invalid/library/nope:1', { settings: { ...settings, mirrors } }),
    /lookup registry.invalid: no such host$/,
    'what the mirror lacks, the registry itself is asked for',
  )
  const proxied: string[] = []
  const proxy = createServer((incoming, response) => {
    proxied.push(new URL(incoming.url ?? '').host)
    const { pathname } = new URL(incoming.url ?? '')
    const { method, headers } = incoming
    request(`http://${registry.host}${pathname}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    }).end()
  }).on('connect', (request, socket) => {
    proxied.push(request.url ?? '')
    const [host, port] = registry.host.split(':')
    const onwards = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      socket.pipe(onwards).pipe(socket)
    })
    for (const end of [socket, onwards]) end.on('error', () => {})
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  t.teardown(() => proxy.close())
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const insecure = ['registry.invalid:5000']
  await t.resolves(
    pull('registry.invalid:5000/library/web:1', {
      settings: { ...settings, insecure, proxies: { http: url, https: url, none: '' } },
    }),
    'by a proxy, and by plain HTTP where there is no TLS',
  )
  t.ok(proxied.every((one) => one === 'registry.invalid:5000'))
  await t.rejects(
    pull('registry.invalid:5000/library/web:1', {
      settings: { ...settings, proxies: { http: url, https: url, none: '' } },
    }),
    /Head "https:\/\/registry.invalid:5000.*": .*/,
  )
})
