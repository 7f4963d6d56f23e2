import type { IncomingMessage } from 'node:http'
import { readBody } from '../../shared/http/read-body.ts'
import type { ImageEntry, KnownEntry } from '../runtime/images/image-entry.ts'
import { type ImageMeaning, meaningOf } from '../runtime/images/image-meaning.ts'
import type { Images } from '../runtime/images/images.ts'
import { Problem } from './problem.ts'

export interface ImageRequest {
  method: string
  query: URLSearchParams
  body: IncomingMessage
}

const maxBytes = 64 * 1024

/**
 * `/debug/images`: GET lists what images stand for, or with `?image=…&command=…&arg=…&workingDir=…` says what a
 * container would run; PUT adds an entry to the map, DELETE with `?pattern=…` removes one.
 */
export async function controlImages(
  { method, query, body }: ImageRequest,
  images: Images | undefined,
): Promise<{ items: KnownEntry[] } | ImageMeaning> {
  if (!images) throw new Problem(404, 'this node runs no programs: any image will do')
  const image = query.get('image')
  if (method === 'GET' && image !== null) {
    const workingDir = query.get('workingDir') || undefined
    return meaningOf(images, image, { command: query.getAll('command'), args: query.getAll('arg'), workingDir })
  }
  if (method === 'PUT') images.add(await readEntry(body))
  else if (method === 'DELETE') remove(images, query.get('pattern') ?? '')
  else if (method !== 'GET') throw new Problem(405, 'method not allowed')
  return { items: images.entries() }
}

function remove(images: Images, pattern: string): void {
  if (images.remove(pattern)) return
  const isBuiltIn = images.entries().some((entry) => entry.pattern === pattern)
  const remedy = isBuiltIn ? 'is built in: add an entry of your own, which counts more' : 'is not there'
  throw new Problem(404, `"${pattern}" ${remedy}`)
}

const tooLarge = (): Problem => new Problem(413, 'the entry is too long')
const noJson = (): Problem => new Problem(400, 'the entry is not valid JSON')

async function readEntry(body: IncomingMessage): Promise<ImageEntry> {
  if (Number(body.headers['content-length'] ?? 0) > maxBytes) throw tooLarge()
  const bytes = await readBody(body, { maxBytes, tooLarge, brokenOff: noJson })
  let entry: unknown
  try {
    entry = JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    throw noJson()
  }
  const { pattern, command, path, stopSignal } = (entry ?? {}) as Record<string, unknown>
  const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
  const isWords = (value: unknown): value is string[] => Array.isArray(value) && value.length > 0 && value.every(isText)
  const fits =
    isText(pattern) &&
    (command === undefined || isWords(command)) &&
    (path === undefined || isText(path)) &&
    (stopSignal === undefined || isText(stopSignal)) &&
    (command ?? path ?? stopSignal) !== undefined
  if (!fits) throw new Problem(400, 'an entry needs a pattern, and a command, a path or a stopSignal')
  return { pattern, ...(command && { command }), ...(path && { path }), ...(stopSignal && { stopSignal }) }
}
