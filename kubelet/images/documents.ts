import { isMap } from '../../shared/api/json/json-map.ts'
import { BadImage } from './bad-image.ts'
import { type Digest, readDigest } from './digest.ts'
import { imageLimits } from './limits.ts'

/** Refers to a part of an image. */
export interface Descriptor {
  digest: Digest
  mediaType: string
  size?: number
  platform?: Platform
  annotations: Record<string, string>
}
export interface Platform {
  os: string
  architecture: string
  variant?: string
}
export interface Manifest {
  config: Descriptor
  layers: Descriptor[]
}
/** Says what a container of the image starts with, and lists its unpacked layers, the lowest first. */
export interface ImageConfig {
  layers: Digest[]
  platform: Partial<Platform>
  entrypoint: string[]
  cmd: string[]
  env: Record<string, string>
  user?: string
  workingDir?: string
  stopSignal?: string
  volumes: string[]
}

/** Reads an index of OCI or a list of manifests of Docker; undefined if the document is neither. */
export function readIndex(text: Uint8Array | string, what: string): Descriptor[] | undefined {
  const { manifests } = readObject(text, what)
  return Array.isArray(manifests) ? manifests.map((one) => readDescriptor(one, what)) : undefined
}

/** Throws {@link BadImage} for a document that is no manifest of an image. */
export function readManifest(text: Uint8Array | string, what: string): Manifest {
  const { config, layers } = readObject(text, what)
  if (!isMap(config) || !Array.isArray(layers)) throw new BadImage(`${what} is not the manifest of an image`)
  assertLayers(layers.length, what)
  return { config: readDescriptor(config, what), layers: layers.map((layer) => readDescriptor(layer, what)) }
}

/** Reads `manifest.json` of `docker save`. */
export function readSavedImages(text: Uint8Array): { config: string; names: string[]; layers: string[] }[] {
  const images = readJson(text, 'manifest.json')
  const isSaved = Array.isArray(images) && images.every((one) => isMap(one) && typeof one.Config === 'string')
  if (!isSaved) throw new BadImage('manifest.json was not written by docker save')
  return images.map(({ Config, RepoTags, Layers }: Record<string, unknown>) => {
    const layers = texts(Layers)
    assertLayers(layers.length, 'manifest.json')
    return { config: String(Config), names: texts(RepoTags), layers }
  })
}

export function readConfig(text: Uint8Array | string, what: string): ImageConfig {
  const { rootfs, config, os, architecture, variant } = readObject(text, what)
  const { diff_ids: diffIds } = isMap(rootfs) ? rootfs : {}
  if (!Array.isArray(diffIds)) throw new BadImage(`${what} does not list the layers of the image`)
  assertLayers(diffIds.length, what)
  const { Entrypoint, Cmd, Env, User, WorkingDir, StopSignal, Volumes } = isMap(config) ? config : {}
  return {
    layers: diffIds.map((one) => readDigest(one, what)),
    platform: given({ os, architecture, variant }),
    entrypoint: texts(Entrypoint),
    cmd: texts(Cmd),
    env: Object.fromEntries(texts(Env).map(variable)),
    ...given({ user: User, workingDir: WorkingDir, stopSignal: StopSignal }),
    volumes: isMap(Volumes) ? Object.keys(Volumes) : [],
  }
}

function assertLayers(count: number, what: string): void {
  const { layers } = imageLimits
  if (count > layers) throw new BadImage(`${what} has ${count} layers; an image may have ${layers}`)
}

function readDescriptor(value: unknown, what: string): Descriptor {
  const { digest, mediaType, size, platform, annotations } = isMap(value) ? value : {}
  return {
    digest: readDigest(digest, what),
    mediaType: string(mediaType) ?? '',
    ...(typeof size === 'number' && { size }),
    ...(isMap(platform) && {
      platform: {
        os: string(platform.os) ?? '',
        architecture: string(platform.architecture) ?? '',
        variant: string(platform.variant),
      },
    }),
    annotations: isMap(annotations)
      ? Object.fromEntries(Object.entries(annotations).map(([name, text]) => [name, String(text)]))
      : {},
  }
}

function readJson(text: Uint8Array | string, what: string): unknown {
  try {
    return JSON.parse(typeof text === 'string' ? text : new TextDecoder().decode(text))
  } catch {
    throw new BadImage(`${what} is not valid JSON`)
  }
}

function readObject(text: Uint8Array | string, what: string): Record<string, unknown> {
  const value = readJson(text, what)
  if (!isMap(value)) throw new BadImage(`${what} is not a JSON object`)
  return value
}

const string = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)
/** Returns the values that are texts. */
const given = <Name extends string>(values: Record<Name, unknown>): Partial<Record<Name, string>> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => string(value) !== undefined)) as never
const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : []

function variable(text: string): [name: string, value: string] {
  const equals = text.indexOf('=')
  return equals < 0 ? [text, ''] : [text.slice(0, equals), text.slice(equals + 1)]
}
