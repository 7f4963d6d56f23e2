import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sleeper } from '../sample-pod.ts'

const busybox = '/bin/busybox'

/** Writes the archive of an image of five layers, as `docker save` does; its command sleeps. Needs a static busybox. */
export function fiveLayers(folder: string, name: string): string {
  const layers = Array.from({ length: 5 }, (_, layer) =>
    layerOf(folder, layer, (root) => {
      if (layer === 0) {
        mkdirSync(join(root, 'bin'))
        copyFileSync(busybox, join(root, 'bin/busybox'))
        chmodSync(join(root, 'bin/busybox'), 0o755)
        for (const program of ['sh', 'sleep']) symlinkSync('busybox', join(root, 'bin', program))
      }
      mkdirSync(join(root, 'srv', `layer-${layer}`), { recursive: true })
      for (let file = 0; file < 20; file++) writeFileSync(join(root, 'srv', `layer-${layer}`, `${file}`), `${file}\n`)
    }),
  )
  return saved(folder, { name, layers, config: { Entrypoint: sleeper, Env: ['PATH=/bin'] } })
}

/** Writes the archive of an image of 200 MB: files of 1 MB, and as many bytes in files of 10 KB. */
export function largeImage(folder: string, name: string): { archive: string; layer: string } {
  const layer = layerOf(folder, 0, (root) => {
    for (let file = 0; file < 100; file++) writeFileSync(join(root, `large-${file}`), randomBytes(1_000_000))
    const small = randomBytes(10_000)
    for (let file = 0; file < 10_000; file++) {
      const place = join(root, `small-${file % 100}`)
      if (file < 100) mkdirSync(place)
      writeFileSync(join(place, `${file}`), small)
    }
  })
  return { archive: saved(folder, { name, layers: [layer], config: {} }), layer }
}

function layerOf(folder: string, layer: number, fill: (root: string) => void): string {
  const root = join(folder, `root-${layer}`)
  mkdirSync(root, { recursive: true })
  fill(root)
  const file = join(folder, `layer-${layer}.tar`)
  execFileSync('tar', ['-c', '-f', file, '-C', root, '--owner=0', '--group=0', '.'])
  return file
}

interface Image {
  name: string
  layers: string[]
  config: object
}

function saved(folder: string, { name, layers, config }: Image): string {
  const digests = layers.map((file) => `sha256:${createHash('sha256').update(readFileSync(file)).digest('hex')}`)
  const platform = { os: 'linux', architecture: process.arch === 'x64' ? 'amd64' : process.arch }
  const described = { ...platform, config, rootfs: { type: 'layers', diff_ids: digests } }
  writeFileSync(join(folder, 'config.json'), JSON.stringify(described))
  const names = layers.map((_, layer) => `layer-${layer}.tar`)
  const manifest = [{ Config: 'config.json', RepoTags: [name], Layers: names }]
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest))
  const archive = join(folder, 'image.tar')
  execFileSync('tar', ['-c', '-f', archive, '-C', folder, 'manifest.json', 'config.json', ...names])
  return archive
}
