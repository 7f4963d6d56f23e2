import { spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { type ImageParts, ociFiles, sha256 } from './image-archives.ts'
import { scratchFolder } from './scratch.ts'
import { until } from './until.ts'

const program = '/usr/bin/docker-registry'
const manifestType = 'application/vnd.oci.image.manifest.v1+json'
/** bcrypt's hash of `sesame`. */
const hash = '$2y$05$abcdefghijklmnopqrstuuKcS.CYWVYVaLiiCKrrc0A5s3mGesJ9O'

export const noDockerRegistry = existsSync(program) ? false : 'needs a registry: Debian has the package docker-registry'

export interface DockerRegistry {
  /** `127.0.0.1:PORT` */
  host: string
  /** Pushes an image, as `docker push` does. */
  push(repository: string, tag: string, image: ImageParts): Promise<void>
}

/** Starts Debian's docker-registry, which lets in only `anna`, whose password is `sesame`. */
export async function startDockerRegistry(t: Test): Promise<DockerRegistry> {
  const folder = scratchFolder(t, 'registry')
  writeFileSync(join(folder, 'htpasswd'), `anna:${hash}\n`)
  const config = {
    version: 0.1,
    storage: { filesystem: { rootdirectory: join(folder, 'data') } },
    http: { addr: '127.0.0.1:0', secret: 'test' },
    auth: { htpasswd: { realm: 'Registry', path: join(folder, 'htpasswd') } },
  }
  writeFileSync(join(folder, 'config.yml'), JSON.stringify(config))
  const child = spawn(program, ['serve', join(folder, 'config.yml')], { stdio: ['ignore', 'ignore', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  const listening = await until(() => /listening on (127\.0\.0\.1:\d+)/.exec(log)?.[1], { what: `a port in:\n${log}` })
  const authorization = `Basic ${Buffer.from('anna:sesame').toString('base64')}`
  const send = async (method: string, url: string, body?: Buffer, type = 'application/octet-stream') => {
    const headers = { authorization, 'content-type': type }
    const answer = await fetch(new URL(url, `http://${listening}`), { method, headers, body: body as never })
    if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${await answer.text()}`)
    return answer.headers.get('location') ?? ''
  }
  return {
    host: listening,
    async push(repository, tag, image) {
      const files = ociFiles(image)
      const [{ digest }] = JSON.parse(String(files.get('index.json'))).manifests
      const manifest = files.get(`blobs/${digest.replace(':', '/')}`)
      for (const [name, bytes] of files) {
        if (!name.startsWith('blobs/') || bytes === manifest) continue
        const place = await send('POST', `/v2/${repository}/blobs/uploads/`)
        await send('PUT', `${place}&digest=sha256:${sha256(bytes)}`, bytes)
      }
      await send('PUT', `/v2/${repository}/manifests/${tag}`, manifest, manifestType)
    },
  }
}
