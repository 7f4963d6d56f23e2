import { join } from 'node:path'
import { BadImage } from '../../kubelet/images/bad-image.ts'
import type { Chunks } from '../../kubelet/images/chunks.ts'
import { hexOf } from '../../kubelet/images/digest.ts'
import { PullError } from '../../kubelet/images/registry/pull-error.ts'
import { fullName, readName } from '../../kubelet/images/store/image-names.ts'
import type { ImageRecord } from '../../kubelet/images/store/image-record.ts'
import { ImageStore } from '../../kubelet/images/store/image-store.ts'
import { ConfigError, UsageError } from '../../shared/config/option.ts'
import { inOneSentence } from '../../shared/config/system-errors.ts'
import { type Output, printData, printTable } from '../terminal/output.ts'
import { withProgress } from '../terminal/progress.ts'

/** Names what runs containers on this machine, and has images. */
export type Engine = 'docker' | 'containerd'

/** Names a store, and says how to print. */
export interface StoreRequest {
  /** Names the folder of images; empty for one in the state folder. */
  imageStore: string
  stateDir: string
  output: Output
  registryMirror: Record<string, string>
  insecureRegistry: string[]
  /** Says from where `import` takes images; empty: from a folder. */
  from: Engine | ''
}

type Deed = (store: ImageStore, words: string[], request: StoreRequest) => Promise<number>

const deeds: Readonly<Record<string, Deed>> = { load, import: importFolder, pull, ls, rm, prune }

/** Runs a command that works with the store of images. Throws a ConfigError with the reason if it fails. */
export async function runWithStore(deed: string, words: string[], request: StoreRequest): Promise<number> {
  const store = new ImageStore(request.imageStore || join(request.stateDir, 'images'))
  try {
    return (await deeds[deed]?.(store, words, request)) ?? 2
  } catch (error) {
    if (error instanceof BadImage || error instanceof PullError) throw new ConfigError(error.message)
    throw inOneSentence(error as Error) ?? error
  }
}

async function load(store: ImageStore, [file, name, ...more]: string[], { output }: StoreRequest): Promise<number> {
  if (!file || more.length > 0) throw new UsageError('usage: kubestage image load FILE|FOLDER|- [NAME]')
  const { loadImages } = await import('../../kubelet/images/load/load-images.ts')
  const source = file === '-' ? process.stdin : file
  const loaded = await withProgress(`Loading ${file}`, loadImages(store, source, { name }))
  return printLoaded(loaded, output, 'loaded')
}

async function importFolder(store: ImageStore, words: string[], request: StoreRequest): Promise<number> {
  const [folder, name, ...more] = words
  const { output } = request
  if (request.from) return importFrom(store, request.from, words, output)
  if (!folder || !name || more.length > 0)
    throw new UsageError('usage: kubestage image import (FOLDER|FILE NAME | --from docker|containerd [IMAGE…])')
  const { importTree } = await import('../../kubelet/images/load/import-tree.ts')
  return printLoaded(await withProgress(`Importing ${folder}`, importTree(store, folder, name)), output, 'loaded')
}

/** Takes images out of a Docker or a containerd that runs: those named, or all. */
async function importFrom(store: ImageStore, from: Engine, words: string[], output: Output): Promise<number> {
  const { loadImages } = await import('../../kubelet/images/load/load-images.ts')
  const engine = await engines[from]()
  const wanted = words.length > 0 ? words.map((word) => fullName(readName(word))) : await engine.names()
  if (wanted.length === 0) throw new ConfigError(`${from} has no images`)
  const loaded: ImageRecord[] = []
  for (const name of wanted) {
    const work = async () => loadImages(store, await engine.save(name))
    loaded.push(...(await withProgress(`Importing ${name}`, work())))
  }
  return printLoaded(loaded, output, 'loaded')
}

const engines: Readonly<
  Record<Engine, () => Promise<{ names(): Promise<string[]>; save(name: string): Promise<Chunks> }>>
> = {
  async docker() {
    const { DockerEngine, dockerSocket } = await import('./docker-engine.ts')
    const { engineAddresses } = await import('../../kubelet/config.ts')
    return new DockerEngine(dockerSocket(engineAddresses().docker))
  },
  async containerd() {
    const { ContainerdEngine } = await import('./containerd-engine.ts')
    const { engineAddresses } = await import('../../kubelet/config.ts')
    return new ContainerdEngine(engineAddresses().containerd)
  },
}

async function pull(store: ImageStore, [name, ...more]: string[], request: StoreRequest): Promise<number> {
  if (!name || more.length > 0) throw new UsageError('usage: kubestage image pull NAME')
  const image = readName(name)
  const { pullImage } = await import('../../kubelet/images/registry/pull-image.ts')
  const { dockerCredentials } = await import('./docker-config.ts')
  const { registryEnvironment } = await import('../../kubelet/config.ts')
  const { dockerConfig, proxies } = registryEnvironment()
  let progress = ''
  const pulled = pullImage(store, image, {
    settings: { mirrors: request.registryMirror, insecure: request.insecureRegistry, proxies },
    credentials: await dockerCredentials(dockerConfig, image, warn),
    onProgress: (bytes, ofBytes) => {
      progress = ` ${megabytes(bytes)} of ${megabytes(ofBytes)} MB`
    },
  })
  return printLoaded([await withProgress(() => `Pulling ${name}${progress}`, pulled)], request.output, 'pulled')
}

const warn = (message: string): void => void process.stderr.write(`kubestage: ${message}\n`)

async function printLoaded(loaded: ImageRecord[], output: Output, what: 'loaded' | 'pulled'): Promise<number> {
  if (output !== 'text') await printData(output, loaded)
  else for (const { name } of loaded) process.stdout.write(`${name} is ${what}\n`)
  return 0
}

async function ls(store: ImageStore, words: string[], { output }: StoreRequest): Promise<number> {
  if (words.length > 0) throw new UsageError('usage: kubestage image ls')
  const images = store.images.all()
  if (output !== 'text') await printData(output, images)
  else printTable([['NAME', 'ID', 'LAYERS', 'SIZE'], ...images.map(row)])
  return 0
}

const row = ({ name, id, config, bytes }: ImageRecord): string[] => [
  name,
  hexOf(id).slice(0, 12),
  String(config.layers.length),
  `${megabytes(bytes)} MB`,
]

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1)

async function rm(store: ImageStore, words: string[]): Promise<number> {
  if (words.length === 0) throw new UsageError('usage: kubestage image rm NAME|ID…')
  const images = words.flatMap((word) => meant(store, word))
  await store.remove(images)
  for (const { name } of images) process.stdout.write(`${name} is removed\n`)
  return 0
}

/** Finds an image by its name, or by the beginning of its ID, which means all its names. */
function meant(store: ImageStore, word: string): ImageRecord[] {
  const found = /^(?:sha256:)?[0-9a-f]{6,64}$/.test(word) ? store.images.byId(word) : []
  if (found.length > 0) return found
  const image = store.images.find(readName(word))
  if (!image) throw new BadImage(`image "${fullName(readName(word))}" not found; kubestage image ls lists them`)
  return [image]
}

async function prune(store: ImageStore): Promise<number> {
  const layers = await store.prune()
  process.stdout.write(`${layers} ${layers === 1 ? 'layer is' : 'layers are'} removed\n`)
  return 0
}
