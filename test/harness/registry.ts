import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { type ImageParts, ociFiles, sha256 } from './image-archives.ts'

/** A registry of a test: it has images, and does what the test makes of a request. */
export interface TestRegistry {
  /** `127.0.0.1:PORT`, as images' names have it. */
  host: string
  /** Method and path of each request. */
  requests: string[]
  /** Gives a repository's tag an image, and returns the digests of its parts. */
  add(repository: string, tag: string, image: ImageParts, options?: { platform?: object }): AddedImage
  /** Runs before the registry answers; true: the test has answered, or never will. */
  intercept?: (request: IncomingMessage, response: ServerResponse) => boolean | undefined
  blob(digest: string): Buffer | undefined
}
export interface AddedImage {
  manifest: string
  config: string
  layers: string[]
}

const digestOf = (bytes: Buffer): string => `sha256:${sha256(bytes)}`

export async function startRegistry(t: Pick<Test, 'teardown'>, port = 0): Promise<TestRegistry> {
  const blobs = new Map<string, Buffer>()
  const tags = new Map<string, string>()
  const server = createServer((request, response) => {
    registry.requests.push(`${request.method} ${request.url}`)
    if (!registry.intercept?.(request, response)) answer(request, response, { blobs, tags })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const registry: TestRegistry = {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    add(repository, tag, image, { platform } = {}) {
      for (const bytes of ociFiles(image).values()) blobs.set(digestOf(bytes), bytes)
      const index = JSON.parse(String(ociFiles(image).get('index.json')))
      const [descriptor] = index.manifests
      const { config, layers } = JSON.parse(String(blobs.get(descriptor.digest)))
      let manifest: string = descriptor.digest
      if (platform) {
        const other = {
          ...descriptor,
          digest: `sha256:${'0'.repeat(64)}`,
          platform: { os: 'plan9', architecture: 'mips' },
        }
        const list = Buffer.from(JSON.stringify({ schemaVersion: 2, manifests: [other, { ...descriptor, platform }] }))
        manifest = digestOf(list)
        blobs.set(manifest, list)
      }
      tags.set(`${repository}:${tag}`, manifest)
      return { manifest, config: config.digest, layers: layers.map(({ digest }: { digest: string }) => digest) }
    },
    blob: (digest) => blobs.get(digest),
  }
  return registry
}

function answer(
  { method, url = '', headers }: IncomingMessage,
  response: ServerResponse,
  { blobs, tags }: { blobs: Map<string, Buffer>; tags: Map<string, string> },
): void {
  const [, repository, kind, reference = ''] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(url) ?? []
  const digest = reference.startsWith('sha256:') ? reference : (tags.get(`${repository}:${reference}`) ?? '')
  const bytes = blobs.get(digest)
  if (!kind || !bytes) {
    response.writeHead(404, { 'content-type': 'application/json' })
    response.end('{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}')
    return
  }
  const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0)
  const range = headers.range ? { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` } : {}
  response.writeHead(headers.range ? 206 : 200, {
    'content-length': bytes.length - from,
    'docker-content-digest': digest,
    ...range,
  })
  response.end(method === 'HEAD' ? undefined : bytes.subarray(from))
}
